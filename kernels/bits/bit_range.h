#pragma once

#include <adjoint/kernels/bits/bit_pack.h>

#include <cmath>

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

  void check(std::string_view op) const {
    ADJ_CHECK(x.dims() == 2 && x.dtype() == DType::f32, "{}: x is {}, expected a float32 matrix", op,
              x.str());
    ADJ_CHECK(bits >= 1 && bits <= BitTensor::kMostBits, "{}: expected 1 to 8 bits, got {}", op, bits);
    const int64_t outer = outer_of(x, along);
    ADJ_CHECK(scale && scale.dims() == 1 && (scale.numel() == 1 || scale.numel() == outer),
              "{}: scale is {}, expected float32 [1] or [{}]", op, scale.str(), outer);
    check_tensor(op, {{"scale", scale}, {"zero", zero}}, scale.shape(), DType::f32, x.device());
  }
};
ADJ_KERNEL(bit_range, BitRangeArgs)  ///< Scale and zero for a matrix.

namespace detail {

/// Arguments of both passes: x float32 [R,C], scale and zero float32 [1] or one for each of outer_of(x,
/// along), `keep` uint8 [R] or absent.
inline void check_fake(std::string_view op, const Tensor& x, int bits, const Tensor& scale,
                       const Tensor& zero, PackedAlong along, const Tensor& keep) {
  ADJ_CHECK(x && x.dims() == 2 && x.dtype() == DType::f32, "{}: x is {}, expected a float32 matrix", op,
            x.str());
  ADJ_CHECK(bits >= 1 && bits <= BitTensor::kMostBits, "{}: expected 1 to 8 bits, got {}", op, bits);
  const int64_t outer = outer_of(x, along);
  for (const Tensor* one : {&scale, &zero})
    ADJ_CHECK(*one && one->dims() == 1 && (one->numel() == 1 || one->numel() == outer) &&
                  one->numel() == scale.numel() && one->dtype() == DType::f32 && one->device() == x.device(),
              "{}: scale and zero are {} and {}, expected float32 [1] or [{}] on {}", op, scale.str(),
              zero.str(), outer, x.device().str());
  if (keep) check_tensor(op, "keep", keep, {x.size(0)}, DType::u8, x.device());
}

}  // namespace detail

/// A number after quantization and dequantization: to_values(to_bits(x)).
ADJ_HOST_DEVICE inline float fake_quantized(float x, float scale, float zero, int largest) {
  return scale * (static_cast<float>(quantized(x, scale, zero, largest)) - zero);
}

/// y = scale (q - zero), q = round(x / scale + zero) clamped to [0, 2^bits - 1]: bitwise equal to to_values()
/// of to_bits(x, bits, scale, zero, along). x float32 [R,C]; scale and zero float32 [1], or one per row
/// (along rows, [R]) or column ([C]). Rows with nonzero `keep` (uint8 [R]) pass unchanged. `y` may be `x`.
struct FakeQuantizeArgs {
  const Tensor& x;
  int bits;
  const Tensor& scale;
  const Tensor& zero;
  PackedAlong along = PackedAlong::rows;
  const Tensor& keep = kAbsent;
  Tensor& y;

  void check(std::string_view op) const {
    detail::check_fake(op, x, bits, scale, zero, along, keep);
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(fake_quantize, FakeQuantizeArgs)  ///< Numbers rounded to those that bits represent.

/// dy/dx (`x`) and dy/dscale (`scale`) of a number.
struct FakeSlope {
  float x, scale;
};
/// Straight-through estimator (Bengio et al. 2013), with v = x / scale + zero: dy/dx = 1 if 0 <= v <= L, else
/// 0; dy/dscale = round(v) - v there, -zero below and L - zero above (LSQ, Esser et al. 2020, eq. 3, extended
/// by a zero). NaN counts as below, like its q.
ADJ_HOST_DEVICE inline FakeSlope fake_slope(float x, float scale, float zero, int largest) {
  const float v = x / scale + zero, last = static_cast<float>(largest);
  if (!(v >= 0.0f)) return {0.0f, -zero};
  if (v > last) return {0.0f, last - zero};
  return {1.0f, rintf(v) - v};
}

/// dx and dscale = gradient_scale Σ dy dy/dscale over the numbers that share a scale, accumulated in float64;
/// either may be absent. Rows with `keep` pass dy to x and add nothing to their scale. `dx` may be `dy`.
/// x, bits, scale, zero, along and keep are those of fake_quantize().
struct FakeQuantizeBackwardArgs {
  const Tensor& x;
  int bits;
  const Tensor& scale;
  const Tensor& zero;
  PackedAlong along = PackedAlong::rows;
  const Tensor& keep = kAbsent;
  double gradient_scale = 1.0;
  const Tensor& dy;
  Tensor& dx;
  Tensor& dscale;

  void check(std::string_view op) const {
    detail::check_fake(op, x, bits, scale, zero, along, keep);
    check_like(op, "dy", dy, x);
    ADJ_CHECK(dx || dscale, "{}: dx and dscale are absent, expected one of them", op);
    check_gradients(op, {{"dx", dx, x}, {"dscale", dscale, scale}});
  }
};
ADJ_KERNEL(fake_quantize_backward, FakeQuantizeBackwardArgs)  ///< The gradient of fake_quantize().

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
