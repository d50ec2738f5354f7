#pragma once

#include <adjoint/kernels/dispatch_value.h>
#include <adjoint/kernels/kernel.h>

#include <string_view>

namespace adj {

/// Element-wise activations. leaky_relu has a slope for negative inputs; elu has alpha 1 (Clevert et al.
/// 2016); gelu is the exact x Φ(x) by erf (Hendrycks & Gimpel 2016).
enum class Activation : uint8_t { none, relu, leaky_relu, elu, gelu };

/// Default slope of leaky_relu.
inline constexpr float kLeakySlope = 0.01f;

constexpr std::string_view name_of(Activation activation) {
  constexpr std::string_view kNames[] = {"none", "relu", "leaky_relu", "elu", "gelu"};
  return kNames[static_cast<size_t>(activation)];
}

namespace kernels {

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
  void check(std::string_view op) const {
    check_float(op, "x", x);
    check_like(op, "y", y, x);
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
  void check(std::string_view op) const {
    check_float(op, "x", x);
    check_like(op, "dy", dy, x);
    check_like(op, "dx", dx, x);
  }
};
ADJ_KERNEL(activate_backward, ActivateBackwardArgs)

/// Calls `f.template operator()<A>()` with A = `activation`.
template <class F>
decltype(auto) dispatch_activation(Activation activation, F&& f) {
  using enum Activation;
  return dispatch_value<relu, leaky_relu, elu, gelu, none>(activation, f);
}

}  // namespace kernels
}  // namespace adj
