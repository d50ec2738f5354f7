#pragma once

#include <adjoint/core/tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// HDF5 as Adjoint uses it: named tensors in groups, and attributes that are a number or a string. Datasets
// and checkpoints go through here; nothing of HDF5's own API is seen outside hdf5_*.cpp.

namespace adj {

/// The value of an attribute. monostate: of a type that is not read (an array, a reference).
using H5Value = std::variant<std::monostate, int64_t, double, std::string>;

/// An HDF5 file, read without HDF5 in this process. HDF5's library crashes and hangs on some damaged files,
/// so it runs in a process of its own, with bounded time and memory, and says what the file holds; a file
/// that it fails on is a DataError like any other. Values that lie in the file as they do in memory are read
/// from there, straight into place; compressed and converted ones come from that process, some rows at a
/// time. Nothing is read before it is asked for, and nothing outside of the file: links and values in other
/// files are errors. All errors are DataErrors of one line, "FILE: PLACE: what was found, what was expected".
/// Copies share the file; threads may read at once. A file that is replaced (another one under its name)
/// goes on as it was; one that is written to or cut off is an error at the next values.
class H5Reader {
 public:
  /// What to look up: paths of objects ("edges/src"), where a part `*` is any name ("splits/*/train"),
  /// attributes ("nodes@x_cols"; "@format" of the root), or "**" for everything. What is not looked up might
  /// not be there, and may be of any kind. Groups on the way are found too.
  using Wanted = std::vector<std::string>;

  static H5Reader open(const std::string& path, const Wanted& wanted = {"**"});
  /// From memory; `name` stands for the path in messages.
  static H5Reader from_image(std::span<const std::byte> image, const std::string& name,
                             const Wanted& wanted = {"**"});

  const std::string& file() const;
  /// Paths have no leading slash; the root is "". True for a link that leads nowhere, too.
  bool has(std::string_view path) const;
  bool is_group(std::string_view path) const;
  /// Names in a group, ascending.
  std::vector<std::string> children(std::string_view group) const;
  /// Extents of a dataset. Throws if it is missing or a link that leads nowhere.
  const std::vector<int64_t>& shape(std::string_view path) const;
  /// What `rows` and `tensor` read a dataset as: any width of integer and float is read, as the dtype that
  /// holds it of uint8, int32, int64, float32, float64; h5py's bool as uint8. Throws for other types.
  DType dtype(std::string_view path) const;
  bool is_bool(std::string_view path) const;
  /// Throw unless a dataset has this shape (-1: any extent) and integers, or floating numbers, of any width.
  void expect_integers(std::string_view path, std::initializer_list<int64_t> shape) const;
  void expect_floats(std::string_view path, std::initializer_list<int64_t> shape) const;

  /// A dataset, on the CPU. Throws if it is missing, or if dtype or shape are not among those expected; -1 in
  /// `shape` stands for any extent.
  Tensor tensor(std::string_view path, std::initializer_list<DType> dtypes,
                std::initializer_list<int64_t> shape) const;
  /// Likewise, of any shape.
  Tensor tensor(std::string_view path, std::initializer_list<DType> dtypes) const;

  /// The rows [first, first + count) of a dataset (of one number: its only row) as `dtype(path)`, into `to`.
  void rows(std::string_view path, int64_t first, int64_t count, void* to) const;
  /// Can rows be read one by one, at the cost of the row? They can where values lie in the file as they do in
  /// memory: not compressed, chunked or to be converted.
  bool has_plain_rows(std::string_view path) const;
  /// Row k of `to` = row index[k], for a dataset that has_plain_rows(), in parallel. Throws adj::Error for an
  /// index out of range, naming its position.
  void gather(std::string_view path, std::span<const int32_t> index, void* to) const;
  /// Calls f(first, count) over blocks of rows that suit reading them: about a megabyte, or what is
  /// compressed together. Several at once where that is faster.
  void for_blocks(std::string_view path, const std::function<void(int64_t first, int64_t count)>& f) const;

  bool has_attribute(std::string_view object, std::string_view name) const;
  /// Names of an object's attributes, ascending; none where there is no such object.
  std::vector<std::string> attributes(std::string_view object) const;
  /// Attributes. Throw if one is missing or of another kind; an integer serves as a number.
  int64_t integer(std::string_view object, std::string_view name) const;
  double number(std::string_view object, std::string_view name) const;
  std::string text(std::string_view object, std::string_view name) const;

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
  const H5Value& attribute(std::string_view object, std::string_view name, std::string_view expected) const;

  std::shared_ptr<const Impl> impl_;
};

/// Writes an HDF5 file as a whole: it appears under its name, complete and on disk, at commit(), in the place
/// of an older one; until then, and without commit(), what stood there stays. The same calls give the same
/// bytes.
class H5Writer {
 public:
  /// `gzip`: 0 (none) to 9, for datasets of 1 KiB or more.
  explicit H5Writer(std::string path, int gzip = 0);
  ~H5Writer();
  H5Writer(const H5Writer&) = delete;
  H5Writer& operator=(const H5Writer&) = delete;

  /// A dataset of any dtype but bfloat16 and bits; groups on the way are made.
  void write(const std::string& path, const Tensor& tensor);
  /// An attribute of the root (""), of a dataset written before, or of a group, which is made where it is
  /// missing.
  void attribute(const std::string& object, const std::string& name, int64_t value);
  void attribute(const std::string& object, const std::string& name, double value);
  void attribute(const std::string& object, const std::string& name, const std::string& value);
  /// Throws DataError where the file cannot be written.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace adj
