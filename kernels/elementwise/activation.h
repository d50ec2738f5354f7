#pragma once

#include <adjoint/kernels/dispatch_value.h>
#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/types/activation.h>

namespace adj::kernels {

/// Only none and relu are fused into other kernels.
inline void check_fused(std::string_view op, Activation activation) {
  ADJ_CHECK(activation == Activation::none || activation == Activation::relu,
            "{}: activation {}, expected none or relu", op, name_of(activation));
}

/// y = act(x), act the `activation`, any shape. `y` may be `x`. `slope` is used by leaky_relu.
struct ActivateArgs {
  Activation activation;
  float slope = kLeakySlope;
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "x", x);
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(activate, ActivateArgs)  ///< Element-wise activation.

/// dx = dy * act'(x), any shape, for the same `activation` and `slope`. `dx` may be `dy`.
struct ActivateBackwardArgs {
  Activation activation;
  float slope = kLeakySlope;
  const Tensor& x;
  const Tensor& dy;
  Tensor& dx;

  void check(std::string_view op) const {
    check_float(op, "x", x);
    check_like(op, {{"dy", dy}, {"dx", dx}}, x);
  }
};
ADJ_KERNEL(activate_backward, ActivateBackwardArgs)  ///< The gradient of activate().

/// Calls `f.template operator()<A>()` with A = `activation`.
template <class F>
decltype(auto) dispatch_activation(Activation activation, F&& f) {
  using enum Activation;
  return dispatch_value<relu, leaky_relu, elu, gelu, none>(activation, f);
}

}  // namespace adj::kernels
