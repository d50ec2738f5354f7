#pragma once

#include <adjoint/data/detail/dataset_problems.h>

#include <limits>

namespace adj::detail {

constexpr int64_t kAny = -1;  ///< any extent
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

bool all_finite(const float* x, int64_t n);

/// The datasets of a file in the schema's types, converted and checked block by block while in cache. An
/// unreadable tensor is absent; one with single wrong values is returned with these values unchanged (out of
/// range, not finite).
class FileValues {
 public:
  FileValues(const H5Reader& file, Problems& problems) : file_(file), problems_(problems) {}

  /// int32 [length] in [from, limit), from integers of any type.
  Tensor indices(const std::string& path, int64_t length, int64_t limit, int64_t least = 0) const;
  /// int64 [length], from integers of any type.
  Tensor integers(const std::string& path, int64_t length) const;
  /// int64 [length], from 0 to `total` (kAny: any), non-decreasing.
  Tensor offsets(const std::string& path, int64_t length, int64_t total, const std::string& meaning) const;
  /// float32 from any floating type; finite in float32.
  Tensor floats(const std::string& path, std::initializer_list<int64_t> shape) const;
  /// float32 [rows, *] from any numeric type, finite or NaN; 0, 1 or NaN if `binary`.
  Tensor targets(const std::string& path, bool binary) const;
  /// int32, from integers in [0, limit) or from a mask of `length`: the true positions, ascending.
  Tensor selection(const std::string& path, int64_t length, int64_t limit) const;

 private:
  template <class T, class Expect, class Check>
  Tensor read_as(const std::string& path, WrongValues& wrong, Expect expect, Check check) const;

  const H5Reader& file_;
  Problems& problems_;
};

}  // namespace adj::detail
