#pragma once

#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/types/activation.h>

namespace adj::kernels {

/// Only none and relu are fused into other kernels.
inline void check_fused(std::string_view op, Activation activation) {
  ADJ_CHECK(activation == Activation::none || activation == Activation::relu,
            "{}: activation {}, expected none or relu", op, name_of(activation));
}

/// y = act(x), any shape. `y` may be `x`. `slope` is used by leaky_relu.
struct ActivateArgs {
  Activation activation;
  float slope = kLeakySlope;
  const Tensor& x;
  Tensor& y;

  Device device() const { return x.device(); }
  void check() const {
    check_float("activate", "x", x);
    check_like("activate", "y", y, x);
  }
};
ADJ_KERNEL(activate, ActivateArgs)

/// dx = dy * act'(x), any shape. `dx` may be `dy`.
struct ActivateBackwardArgs {
  Activation activation;
  float slope = kLeakySlope;
  const Tensor& x;
  const Tensor& dy;
  Tensor& dx;

  Device device() const { return x.device(); }
  void check() const {
    check_float("activate_backward", "x", x);
    check_like("activate_backward", "dy", dy, x);
    check_like("activate_backward", "dx", dx, x);
  }
};
ADJ_KERNEL(activate_backward, ActivateBackwardArgs)

/// Calls `f.template operator()<A>()` with A = `activation`.
template <class F>
decltype(auto) dispatch_activation(Activation activation, F&& f) {
  switch (activation) {
    case Activation::relu:
      return f.template operator()<Activation::relu>();
    case Activation::leaky_relu:
      return f.template operator()<Activation::leaky_relu>();
    case Activation::elu:
      return f.template operator()<Activation::elu>();
    case Activation::gelu:
      return f.template operator()<Activation::gelu>();
    default:
      return f.template operator()<Activation::none>();
  }
}

}  // namespace adj::kernels
