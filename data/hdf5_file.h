#pragma once

#include <adjoint/core/tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// HDF5 subset of Adjoint: named tensors in groups, and attributes that are a number or a string. Used for
// datasets and checkpoints; HDF5's own API is visible in hdf5_*.cpp only.

namespace adj {

/// Value of an attribute. monostate: of an unsupported type (an array, a reference).
using H5Value = std::variant<std::monostate, int64_t, double, std::string>;

/// An HDF5 file, read without HDF5 in this process. The HDF5 library crashes and hangs on some damaged files,
/// so it runs in a child process, with bounded time and memory, and reports the file's contents; its failure
/// is an ordinary DataError. Values stored in memory layout are read directly from the file into place;
/// compressed and converted ones come from the child, some rows at a time. Reads are on demand, and links to
/// or values in other files are errors. All errors are one-line DataErrors, "FILE: PLACE: what was found,
/// what was expected". Copies share the file; threads may read concurrently. If the file is replaced, the
/// open one stays valid; one that is modified or truncated gives an error at the next read.
class H5Reader {
 public:
  /// Selects objects to look up: paths of objects ("edges/src"), in which a part `*` matches any name
  /// ("splits/*/train"), attributes ("nodes@x_cols"; "@format" of the root), or "**" for everything. Anything
  /// else counts as unknown: it may not exist, or have any type. Parent groups are included.
  using Wanted = std::vector<std::string>;

  static H5Reader open(const std::string& path, const Wanted& wanted = {"**"});
  /// From memory; `name` replaces the path in messages.
  static H5Reader from_image(std::span<const std::byte> image, const std::string& name,
                             const Wanted& wanted = {"**"});

  /// The same file under other paths: an object is looked for at path(its path), and messages say place(their
  /// place).
  using Rename = std::function<std::string(std::string_view)>;
  H5Reader renamed(Rename path, Rename place) const;  ///< shares the file; empty functions change nothing
  /// Where the file has the object.
  std::string path_in_file(std::string_view path) const { return path_ ? path_(path) : std::string(path); }

  const std::string& file() const;
  /// Its size.
  int64_t file_bytes() const;
  /// Paths have no leading slash; the root is "". Also true for a dangling link.
  bool has(std::string_view path) const;
  bool is_group(std::string_view path) const;  ///< false for what does not exist
  /// Names in a group, ascending.
  std::vector<std::string> children(std::string_view group) const;
  /// Extents of a dataset. Throws if it is missing or a dangling link.
  const std::vector<int64_t>& shape(std::string_view path) const;
  /// The dtype in which `rows` and `tensor` read a dataset: integers and floats of any width map to the
  /// fitting one of uint8, int32, int64, float32, float64; h5py's bool maps to uint8. Throws for other types.
  DType dtype(std::string_view path) const;
  bool is_bool(std::string_view path) const;  ///< h5py's bool; throws as shape() does
  /// Throws unless a dataset has this shape (-1: any extent) and integers of any width.
  void expect_integers(std::string_view path, std::initializer_list<int64_t> shape) const;
  /// The same for floating numbers.
  void expect_floats(std::string_view path, std::initializer_list<int64_t> shape) const;

  /// Reads a dataset to the CPU. Throws if it is missing, or has another dtype or shape than expected; -1 in
  /// `shape` means any extent.
  Tensor tensor(std::string_view path, std::initializer_list<DType> dtypes,
                std::initializer_list<int64_t> shape) const;
  /// Same, for any shape.
  Tensor tensor(std::string_view path, std::initializer_list<DType> dtypes) const;

  /// Reads the rows [first, first + count) of a dataset (a scalar has one row) as `dtype(path)` into
  /// `buffer`.
  void rows(std::string_view path, int64_t first, int64_t count, void* buffer) const;
  /// True if single rows can be read at the cost of the row: stored in memory layout, not compressed, chunked
  /// or converted.
  bool has_plain_rows(std::string_view path) const;
  /// Gather: row k of `to` is row index[k], for a dataset with has_plain_rows(), in parallel. Throws
  /// adj::Error for an index out of range, naming its position.
  void gather(std::string_view path, std::span<const int32_t> index, void* buffer) const;
  /// Calls f(first, count) over blocks of the rows [begin, end) (all of them) of a size that is efficient to
  /// read: about a megabyte, or a compressed chunk. In parallel if that is faster.
  void for_blocks(std::string_view path, const std::function<void(int64_t first, int64_t count)>& f) const;
  void for_blocks(std::string_view path, int64_t begin, int64_t end,
                  const std::function<void(int64_t first, int64_t count)>& f) const;

  bool has_attribute(std::string_view object, std::string_view name) const;  ///< false without the object
  /// Names of an object's attributes, ascending; empty if the object does not exist.
  std::vector<std::string> attributes(std::string_view object) const;
  /// Attribute values. Throw if one is missing or of another kind; an integer is also a number.
  int64_t integer(std::string_view object, std::string_view name) const;
  double number(std::string_view object, std::string_view name) const;     ///< throws as integer() does
  std::string text(std::string_view object, std::string_view name) const;  ///< throws as integer() does

  /// Throws DataError "FILE: PLACE: message".
  template <class... Args>
  [[noreturn]] void fail(std::string_view place, fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(place, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  struct Impl;
  struct Object;

  explicit H5Reader(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  [[noreturn]] void fail_with(std::string_view place, const std::string& message) const;
  const Object* find(std::string_view path) const;
  const Object& dataset(std::string_view path) const;
  const Object& dataset(std::string_view path, std::initializer_list<int64_t> shape,
                        const std::string& expected) const;
  template <class T>
  const T& attribute(std::string_view object, std::string_view name, std::string_view expected) const;

  std::shared_ptr<const Impl> impl_;
  Rename path_ = {}, place_ = {};  // empty: as they are
};

/// Writes an HDF5 file atomically: it appears under its name, complete and on disk, at commit(), replacing an
/// older one; until then, and without commit(), the old file stays. The same calls give the same bytes.
class H5Writer {
 public:
  /// `gzip`: level 0 (none) to 9, for datasets of at least 1 KiB.
  explicit H5Writer(std::string path, int gzip = 0);
  /// Begins with the contents of the file `source`, which may be `path`. HDF5 opens it in this process, so an
  /// H5Reader must have accepted it. Throws DataError.
  H5Writer(std::string path, const std::string& source);
  ~H5Writer();
  H5Writer(const H5Writer&) = delete;
  H5Writer& operator=(const H5Writer&) = delete;

  /// Writes a dataset of any dtype except bfloat16 and bits; parent groups are created.
  void write(const std::string& path, const Tensor& tensor);
  /// Sets an attribute of the root (""), of a dataset written before, or of a group, which is created if
  /// missing.
  void attribute(const std::string& object, const std::string& name, int64_t value);
  void attribute(const std::string& object, const std::string& name, double value);
  void attribute(const std::string& object, const std::string& name, const std::string& value);
  /// Removes an object, if it exists.
  void remove(const std::string& path);
  /// Throws DataError if the file cannot be written.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace adj
