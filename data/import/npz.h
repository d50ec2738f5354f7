#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/data/import/rounding.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// A numpy archive (.npz: a zip of .npy files, stored or deflated), read as numbers: bools, integers and
/// floats of 16, 32 and 64 bits, in either byte order, row-major or Fortran order. Pickled objects, records,
/// dates and complex numbers are refused when requested; arrays that are not requested may be anything.
///
/// Arrays are read on demand, in blocks, from the archive directly into their tensors. Before an allocation
/// the array's header, the archive's directory and the file's size must agree; the total read is limited to
/// the larger of 256 MiB and 200 times the file's size (zip bombs). All errors are one-line DataErrors,
/// "FILE: ARRAY: what was found, what was expected": not a zip archive, truncated or damaged (CRC),
/// encrypted, an unsupported compression, a duplicate name, a header that is not numpy's. In expected shapes
/// -1 means any extent. Single thread.
class NpzReader {
 public:
  static NpzReader open(const std::string& path);  ///< reads the archive's directory
  /// From memory, which must outlive the reader; `name` replaces the path in messages.
  static NpzReader from_image(std::span<const std::byte> image, const std::string& name);
  NpzReader(NpzReader&&) noexcept;
  NpzReader& operator=(NpzReader&&) noexcept;
  ~NpzReader();

  const std::string& file() const;
  /// Size of the file.
  uint64_t file_bytes() const;
  /// Array names without ".npy", ascending. Other files in the archive are ignored.
  std::vector<std::string> names() const;
  bool has(std::string_view name) const;  ///< name without ".npy"

  /// These and the functions below throw if there is no array of that name.
  const std::vector<int64_t>& shape(std::string_view name) const;
  /// The dtype that holds the array's elements: uint8 (bools too), int32, int64, float32 or float64. Throws
  /// for other types, naming them.
  DType dtype(std::string_view name) const;
  bool is_bool(std::string_view name) const;  ///< numpy's bool, which dtype() maps to uint8
  /// True for bools and integers.
  bool is_integer(std::string_view name) const;

  /// The array as `dtype(name)`, with at most four dimensions.
  Tensor tensor(std::string_view name) const;
  /// Same with this shape, converted: to uint8, int32 and int64 from bools and integers that fit, to float32
  /// and float64 from any numbers; finite values must stay finite in float32. Throws naming the first element
  /// that does not fit.
  Tensor tensor(std::string_view name, DType as, const std::vector<int64_t>& shape) const;
  /// What the calls of tensor() rounded to float32, by array; others are not in it.
  const std::map<std::string, Rounding>& rounding() const;
  /// A single integer.
  int64_t integer(std::string_view name) const;
  /// A single string, of bytes or characters.
  std::string text(std::string_view name) const;

  /// Throws DataError "FILE: ARRAY: message".
  template <class... Args>
  [[noreturn]] void fail(std::string_view array, fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(array, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  struct Impl;
  struct Array;

  explicit NpzReader(std::unique_ptr<Impl> impl);
  [[noreturn]] void fail_with(std::string_view array, const std::string& message) const;
  const Array& array(std::string_view name) const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace adj
