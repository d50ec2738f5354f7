#pragma once

#include <adjoint/core/tensor.h>

#include <functional>
#include <map>
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

/// The contents of an HDF5 file, taken in as a whole and read without HDF5. HDF5's library crashes and hangs
/// on some damaged files, so it runs in a forked child with bounded time and memory that hands the contents
/// over through shared memory; a file that it fails on is a DataError like any other. Where the process
/// cannot fork, the library runs in it. All errors are DataErrors of one line, "FILE: PLACE: what was found,
/// what was expected".
class H5Reader {
 public:
  /// Which objects to take in, by their path ("edges/src"); groups that are not taken in are not entered.
  using Accept = std::function<bool(std::string_view path)>;

  static H5Reader open(const std::string& path, const Accept& accept = {});
  /// From memory; `name` stands for the path in messages.
  static H5Reader from_image(std::span<const std::byte> image, const std::string& name,
                             const Accept& accept = {});

  const std::string& file() const { return file_; }
  /// Paths have no leading slash; the root is "".
  bool has(std::string_view path) const { return objects_.find(path) != objects_.end(); }
  bool is_group(std::string_view path) const;
  /// Names in a group, ascending.
  std::vector<std::string> children(std::string_view group) const;
  /// Extents of a dataset. Throws if it is missing.
  const std::vector<int64_t>& shape(std::string_view path) const;

  /// A dataset, copied to the CPU. Any width of integer and float is read, as the dtype that holds it of
  /// uint8, int32, int64, float32, float64. Throws if it is missing, or if dtype or shape are not among those
  /// expected; -1 in `shape` stands for any extent.
  Tensor tensor(std::string_view path, std::initializer_list<DType> dtypes,
                std::initializer_list<int64_t> shape) const;
  /// Likewise, of any shape.
  Tensor tensor(std::string_view path, std::initializer_list<DType> dtypes) const;

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
  struct Object {
    bool group = false;
    std::string type;  // as the file has it, for messages
    bool readable = false;
    DType dtype = DType::u8;
    std::vector<int64_t> shape;
    const std::byte* data = nullptr;
    std::map<std::string, H5Value, std::less<>> attributes;
  };

  H5Reader(std::string file, std::span<const std::byte> image, bool from_memory, const Accept& accept);
  [[noreturn]] void fail_with(std::string_view place, const std::string& message) const;
  const Object& dataset(std::string_view path) const;
  const H5Value& attribute(std::string_view object, std::string_view name, std::string_view expected) const;

  std::string file_;
  std::map<std::string, Object, std::less<>> objects_;
  std::shared_ptr<const void> memory_;  // what the data pointers point into
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
