#pragma once

#include <adjoint/data/detail/dataset_problems.h>

#include <limits>

namespace adj::detail {

constexpr int64_t kAny = -1;  ///< extent
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

/// The datasets of a file as the schema has them, converted and checked block by block while they are in the
/// cache. A tensor is absent where it cannot be read as such; where single values of it are wrong, it is
/// there, and they are as wrong in it as in the file (out of range, not finite).
class FileValues {
 public:
  FileValues(const H5Reader& file, Problems& problems) : file_(file), problems_(problems) {}

  /// int32 [length] in [from, limit), from any integers.
  Tensor indices(const std::string& path, int64_t length, int64_t limit, int64_t from = 0) const;
  /// int64 [length], any integers.
  Tensor integers(const std::string& path, int64_t length) const;
  /// int64 [length], from 0 to `total` (kAny: to any), never falling.
  Tensor offsets(const std::string& path, int64_t length, int64_t total, const std::string& meaning) const;
  /// float32 from any floating numbers, finite as such.
  Tensor floats(const std::string& path, std::initializer_list<int64_t> shape) const;
  /// float32 [rows, *] from any numbers, finite or nan; 0, 1 or nan where they are `binary`.
  Tensor targets(const std::string& path, bool binary) const;
  /// int32, from integers in [0, limit) or a mask of `length`: the positions that are true, ascending.
  Tensor selection(const std::string& path, int64_t length, int64_t limit) const;

 private:
  template <class T, class Expect, class Check>
  Tensor read_as(const std::string& path, WrongValues& wrong, Expect expect, Check check) const;
  Tensor mask(const std::string& path, int64_t length) const;

  const H5Reader& file_;
  Problems& problems_;
};

}  // namespace adj::detail
