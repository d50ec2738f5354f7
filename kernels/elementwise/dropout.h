#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/elementwise/unary.h>
#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

namespace detail {

inline void check_rule(std::string_view op, const DropoutRule& rule) {
  ADJ_CHECK(rule.threshold < 65536u, "{}: threshold {}, expected less than 65536", op, rule.threshold);
}

}  // namespace detail

/// y = act(x) * scale if position i of the sequence `key` keeps element i by `rule`, else 0, any shape.
/// `slope` is used by leaky_relu. Nothing is saved: without an activation the backward pass is the same call
/// on dy. `y` may be `x`.
struct DropoutArgs {
  Activation activation = Activation::none;
  float slope = kLeakySlope;
  const Tensor& x;
  RandomKey key;
  DropoutRule rule;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "x", x);
    check_like(op, "y", y, x);
    detail::check_rule(op, rule);
  }
};
ADJ_KERNEL(dropout, DropoutArgs)  ///< Dropout after an activation.

/// Its gradient at x, dx = dropout(dy) * act'(x), with the mask recomputed by `key` and `rule`; these,
/// `activation` and `slope` are those of dropout(). `dx` may be `dy`.
struct DropoutBackwardArgs {
  Activation activation;
  float slope = kLeakySlope;
  const Tensor& x;
  const Tensor& dy;
  RandomKey key;
  DropoutRule rule;
  Tensor& dx;

  void check(std::string_view op) const {
    check_float(op, "x", x);
    check_like(op, {{"dy", dy}, {"dx", dx}}, x);
    detail::check_rule(op, rule);
  }
};
ADJ_KERNEL(dropout_backward, DropoutBackwardArgs)  ///< The gradient of dropout().

/// y[i] = 1 with probability p[i], else 0: compares number i of the sequence `key` (word i % 4 of Philox
/// block i / 4, uniform in [0, 1)) with p[i]. p float32 [N], y uint8 [N]. Identical on every device.
struct BernoulliArgs {
  const Tensor& p;
  RandomKey key;
  Tensor& y;

  void check(std::string_view op) const {
    ADJ_CHECK(p && p.dims() == 1 && p.dtype() == DType::f32, "{}: p is {}, expected float32 [N]", op,
              p.str());
    check_tensor(op, "y", y, p.shape(), DType::u8, p.device());
  }
};
ADJ_KERNEL(bernoulli, BernoulliArgs)  ///< Draws of 0 or 1.

/// One draw y[i].
ADJ_HOST_DEVICE inline uint8_t bernoulli_of(float p, uint64_t seed, uint64_t stream, int64_t i) {
  const PhiloxBlock block = philox(seed, stream, static_cast<uint64_t>(i / 4));
  return to_uniform(block.word[i % 4]) < p ? 1 : 0;
}

}  // namespace adj::kernels
