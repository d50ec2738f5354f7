#pragma once

#include <adjoint/core/tensor.h>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// An archive of numpy's arrays (.npz: a zip of .npy files, stored or deflated), read as numbers: bools,
/// integers and floats of 16, 32 and 64 bits, in either byte order, row-major or Fortran's order. Pickled
/// objects are refused, and so are records, dates and complex numbers, each where it is asked for: what is
/// beside the wanted arrays may be anything.
///
/// Nothing is read before it is asked for, and an array goes from the archive straight into its tensor, in
/// blocks. Before memory is taken, the array's header, the archive's directory and the file's size must
/// agree; of all that is asked for, no more is read than 256 MiB or 200 times the file's size (a zip bomb).
/// All errors are DataErrors of one line, "FILE: ARRAY: what was found, what was expected": not a zip
/// archive, truncated or damaged (CRC), encrypted, otherwise compressed, a name twice, a header that is not
/// numpy's. Shapes in expectations: -1 is any extent. One thread at a time.
class NpzReader {
 public:
  static NpzReader open(const std::string& path);
  /// From memory, which must outlive the reader; `name` stands for the path in messages.
  static NpzReader from_image(std::span<const std::byte> image, const std::string& name);
  NpzReader(NpzReader&&) noexcept;
  NpzReader& operator=(NpzReader&&) noexcept;
  ~NpzReader();

  const std::string& file() const;
  /// Its size.
  uint64_t file_bytes() const;
  /// Of the arrays, without ".npy", ascending. Other files in the archive are not looked at.
  std::vector<std::string> names() const;
  bool has(std::string_view name) const;

  /// Of these and the ones below, all throw if there is no array of that name.
  const std::vector<int64_t>& shape(std::string_view name) const;
  /// What holds the array's elements, of uint8 (bools too), int32, int64, float32 and float64. Throws where
  /// they are no numbers, saying what they are.
  DType dtype(std::string_view name) const;
  bool is_bool(std::string_view name) const;
  /// Bools and integers.
  bool is_integer(std::string_view name) const;

  /// The array as `dtype(name)`, of at most four dimensions.
  Tensor tensor(std::string_view name) const;
  /// Likewise of this shape, its elements converted: to uint8, int32 and int64 from bools and integers that
  /// fit, to float32 and float64 from any numbers, where float32 must hold what is finite. Throws naming the
  /// first element that does not fit.
  Tensor tensor(std::string_view name, DType as, std::initializer_list<int64_t> shape) const;
  /// Of one integer.
  int64_t integer(std::string_view name) const;
  /// Of one string, of bytes or characters.
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
