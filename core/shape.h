#pragma once

#include <adjoint/core/dtype.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace adj {

/// Extents of a row-major tensor, slowest first; at most four. A scalar has no dimensions and one element.
class Shape {
 public:
  static constexpr int kMaxDims = 4;  ///< the most dimensions; the constructors throw for more

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents)
      : Shape(std::span<const int64_t>(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const int64_t> extents) {
    if (extents.size() > kMaxDims) [[unlikely]]
      throw_too_many(extents.size());
    for (int64_t extent : extents) {
      if (extent < 0) [[unlikely]]
        throw_negative(extent);
      extents_[dims_++] = extent;
    }
  }

  int dims() const { return dims_; }  ///< number of dimensions, 0 for a scalar
  /// Extent of dimension `d`; negative counts from the end.
  int64_t operator[](int d) const {
    const int i = d < 0 ? d + dims_ : d;
    if (i < 0 || i >= dims_) [[unlikely]]
      throw_no_dimension(d);
    return extents_[i];
  }
  /// The same shape with another extent of dimension `d`, which counts from 0.
  Shape with(int d, int64_t extent) const {
    if (extent < 0) [[unlikely]]
      throw_negative(extent);
    if (d < 0 || d >= dims_) [[unlikely]]
      throw_no_dimension(d);
    Shape shape = *this;
    shape.extents_[d] = extent;
    return shape;
  }
  /// Number of elements: the product of the extents. Throws Error for more than 2^59, whose bytes no 64-bit
  /// number is sure to hold.
  int64_t numel() const {
    int64_t n = 1;
    bool overflow = false;
    for (int d = 0; d < dims_; ++d) overflow |= __builtin_mul_overflow(n, extents_[d], &n);
    if (overflow || n > int64_t{1} << 59) [[unlikely]]
      throw_too_large();
    return n;
  }
  /// "[2708, 16]".
  std::string str() const;
  /// Compares dims() extents only: GCC 12 at -O3 may leave garbage in the rest.
  bool operator==(const Shape& other) const {
    if (dims_ != other.dims_) return false;
    for (int d = 0; d < dims_; ++d)
      if (extents_[d] != other.extents_[d]) return false;
    return true;
  }

 private:
  // Out of line: format strings take long to compile.
  [[noreturn, gnu::cold]] static void throw_too_many(size_t dims);
  [[noreturn, gnu::cold]] static void throw_negative(int64_t extent);
  [[noreturn, gnu::cold]] void throw_no_dimension(int d) const;
  [[noreturn, gnu::cold]] void throw_too_large() const;

  std::array<int64_t, kMaxDims> extents_{};
  int dims_ = 0;
};

/// Rows of a bit tensor start at multiples of this many bits, the access width of tensor cores.
inline constexpr int64_t kBitAlignment = 128;

/// Bytes of a tensor of this shape and dtype. Rows of bits (the last dimension) are padded to kBitAlignment.
inline size_t bytes_of(const Shape& shape, DType dtype) {
  if (dtype != DType::bits) return static_cast<size_t>(shape.numel()) * size_of(dtype);
  const int64_t width = shape.dims() == 0 ? 1 : shape[-1];
  const int64_t rows = width == 0 ? 0 : shape.numel() / width;
  return static_cast<size_t>(rows * ((width + kBitAlignment - 1) / kBitAlignment) * (kBitAlignment / 8));
}

}  // namespace adj
