#pragma once

#include <adjoint/kernels/bits/bit_pack.h>

namespace adj {

namespace kernels {

/// scale and zero for to_bits(), float32 [1] over all of x, or [outer], per row (along rows) or column; from
/// its finite numbers, by `range` for L = 2^bits - 1. affine: scale = (largest - least) / L, zero =
/// round(-least / scale); symmetric: scale = 2 m / L, zero = L / 2. scale is 1 if all numbers are 0.
/// Identical on every device.
struct BitRangeArgs {
  const Tensor& x;
  PackedAlong along = PackedAlong::rows;
  BitRange range = BitRange::affine;
  int bits;
  Tensor& scale;
  Tensor& zero;

  Device device() const { return x.device(); }
  void check(std::string_view op) const {
    ADJ_CHECK(x.dims() == 2 && x.dtype() == DType::f32, "{}: x is {}, expected a float32 matrix", op,
              x.str());
    ADJ_CHECK(bits >= 1 && bits <= BitTensor::kMostBits, "{}: expected 1 to 8 bits, got {}", op, bits);
    const int64_t outer = outer_of(x, along);
    ADJ_CHECK(scale && scale.dims() == 1 && (scale.numel() == 1 || scale.numel() == outer),
              "{}: scale is {}, expected float32 [1] or [{}]", op, scale.str(), outer);
    check_tensor(op, {{"scale", scale}, {"zero", zero}}, scale.shape(), DType::f32, device());
  }
};
ADJ_KERNEL(bit_range, BitRangeArgs)  ///< Scale and zero for a matrix.

}  // namespace kernels

/// x [R,C] quantized to `bits` bits over its own range: one for all of x, or `by_row`, one per packed row or
/// column.
inline BitTensor to_bits(const Tensor& x, int bits, PackedAlong along = PackedAlong::rows,
                         BitRange range = BitRange::affine, bool by_row = false) {
  ADJ_CHECK(x.dims() == 2, "to_bits: x is {}, expected a matrix", x.str());
  const int64_t n = by_row ? outer_of(x, along) : 1;
  Tensor scale = Tensor::empty({n}, DType::f32, x.device()),
         zero = Tensor::empty({n}, DType::f32, x.device());
  kernels::bit_range({.x = x, .along = along, .range = range, .bits = bits, .scale = scale, .zero = zero});
  return to_bits(x, bits, scale, zero, along);
}

}  // namespace adj
