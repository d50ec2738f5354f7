#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/elementwise/activation.h>

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

}  // namespace adj::kernels
