#pragma once

#include <adjoint/kernels/bits/bit_tensor.h>
#include <adjoint/kernels/kernel.h>

#include <algorithm>
#include <cmath>

namespace adj::kernels {

namespace detail {

/// Arguments of both passes: x float32 [N,F], scale and bits float32 [N], is_signed float32 [1].
inline void check_nodes(std::string_view op, const Tensor& x, const Tensor& scale, const Tensor& bits,
                        const Tensor& is_signed) {
  ADJ_CHECK(x && x.dims() == 2 && x.dtype() == DType::f32, "{}: x is {}, expected a float32 matrix", op,
            x.str());
  check_tensor(op, {{"scale", scale}, {"bits", bits}}, {x.size(0)}, DType::f32, x.device());
  check_tensor(op, "is_signed", is_signed, {1}, DType::f32, x.device());
}

}  // namespace detail

/// Quantization range of a node: integer multiples of `scale` from least to largest.
struct NodeRange {
  float scale, least, largest;
};
/// `bits` rounded and clamped to [1, 8] ([2, 8] if signed).
ADJ_HOST_DEVICE inline NodeRange node_range(float scale, float bits, float is_signed) {
  const int sign = is_signed > 0.0f ? 1 : 0;
  const float rounded = rintf(bits), few = static_cast<float>(1 + sign);
  const int held = !(rounded > few) ? 1 + sign : rounded < 8.0f ? static_cast<int>(rounded) : 8;
  const auto largest = static_cast<float>((1 << (held - sign)) - 1);
  return {scale, sign != 0 ? -largest : 0.0f, largest};
}
/// NaN counts as below.
ADJ_HOST_DEVICE inline float node_quantized(float x, const NodeRange& range) {
  const float v = x / range.scale;
  if (!(v > range.least)) return range.scale * range.least;
  return range.scale * (v < range.largest ? rintf(v) : range.largest);
}

/// y = s_i q, q = round(x / s_i) clamped to the range of [b_i] bits: 0 to 2^[b] - 1, or if signed -(2^([b] -
/// 1) - 1) to 2^([b] - 1) - 1, [b] being b rounded and clamped to [1, 8] ([2, 8] if signed) (A2Q, Zhu et al.,
/// Aggregation-Aware Quantization for Graph Neural Networks, 2023). is_signed is 1 for signed numbers, else
/// 0. `y` may be `x`.
struct NodeQuantizeArgs {
  const Tensor& x;
  const Tensor& scale;
  const Tensor& bits;
  const Tensor& is_signed;
  Tensor& y;

  Device device() const { return x.device(); }
  void check(std::string_view op) const {
    detail::check_nodes(op, x, scale, bits, is_signed);
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(node_quantize, NodeQuantizeArgs)

/// dy/dx, dy/dscale and dy/dbits of a number.
struct NodeSlope {
  float x, scale, bits;
};
/// Straight-through for both roundings (A2Q): within the range dy/dx = 1, dy/ds = q - x / s, dy/db = 0;
/// beyond it dy/dx = 0, dy/ds = q, and as the largest q is 2^b - 1 (2^(b - 1) - 1), dy/db = ± s ln 2 (|q| +
/// 1); below 0 if unsigned, where q is 0 for any bits, 0.
ADJ_HOST_DEVICE inline NodeSlope node_slope(float x, const NodeRange& range) {
  constexpr float kLn2 = 0.693147181f;
  const float v = x / range.scale;
  if (!(v >= range.least))
    return {0.0f, range.least, range.least < 0.0f ? range.scale * (kLn2 * (range.least - 1.0f)) : 0.0f};
  if (v > range.largest) return {0.0f, range.largest, range.scale * (kLn2 * (range.largest + 1.0f))};
  return {1.0f, rintf(v) - v, 0.0f};
}
/// Replaces dL/dy for scale and bits if they learn only from the quantization error: the derivative of E =
/// 1/F Σ |y - x|, without the factor 1/F.
ADJ_HOST_DEVICE inline float error_sign(float x, float y) { return y > x ? 1.0f : y < x ? -1.0f : 0.0f; }

/// dx, and per node dscale and dbits: Σ dy dy/ds and Σ dy dy/db over its numbers; or, if `local`, the
/// gradient of its error E = 1/F Σ |y - x|, which exists for every node, also for those without a loss
/// gradient (A2Q's Local Gradient). Accumulated in float64 by 32 lanes, then pairwise: bitwise identical on
/// every device. `dx` may be `dy`, or absent.
struct NodeQuantizeBackwardArgs {
  const Tensor& x;
  const Tensor& scale;
  const Tensor& bits;
  const Tensor& is_signed;
  bool local = false;
  const Tensor& dy;
  Tensor& dx;
  Tensor& dscale;
  Tensor& dbits;

  Device device() const { return x.device(); }
  void check(std::string_view op) const {
    detail::check_nodes(op, x, scale, bits, is_signed);
    check_like(op, "dy", dy, x);
    if (dx) check_like(op, "dx", dx, x);
    check_like(op, "dscale", dscale, scale);
    check_like(op, "dbits", dbits, bits);
  }
};
ADJ_KERNEL(node_quantize_backward, NodeQuantizeBackwardArgs)
/// Factor of the sums: 1, or 1/F if `local`, whose mean of no numbers is 0.
inline double error_share(const NodeQuantizeBackwardArgs& args) {
  return args.local ? 1.0 / static_cast<double>(std::max<int64_t>(args.x.size(1), 1)) : 1.0;
}

}  // namespace adj::kernels
