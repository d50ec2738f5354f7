#pragma once

#include <adjoint/kernels/dispatch_value.h>
#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/types/activation.h>

#include <cmath>

namespace adj {

/// Element-wise functions (kernels::UnaryArgs).
enum class Unary : uint8_t {
  exp,
  log,
  sqrt,
  sigmoid,
  tanh,
  reciprocal,
  inverse_sqrt,
  abs,
  sin,
  cos,
  power,  ///< x^first
  clamp   ///< x within first and second
};

/// Whether a derivative is computed from the input or the output. The output is used where possible: the next
/// op keeps it anyway, and no exponential is recomputed.
constexpr bool saves_input(Unary function) { return function == Unary::log || function >= Unary::abs; }

namespace kernels {

/// Calls `f.template operator()<U>()` with U = `function`.
template <class F>
void dispatch_unary(Unary function, F&& f) {
  using enum Unary;
  dispatch_value<exp, log, sqrt, sigmoid, tanh, reciprocal, inverse_sqrt, abs, sin, cos, power, clamp>(
      function, f);
}

/// The derivative, from the tensor selected by saves_input(). At a bound clamp() has that of x, abs at 0 has
/// 0.
template <Unary U>
struct UnarySlope {
  double first = 0.0, second = 0.0;  ///< of UnaryArgs

  /// W: float or double.
  template <class W>
  ADJ_HOST_DEVICE W operator()(W saved) const {
    if constexpr (U == Unary::exp) return saved;
    if constexpr (U == Unary::log) return W{1} / saved;
    if constexpr (U == Unary::sqrt) return W{0.5} / saved;
    if constexpr (U == Unary::sigmoid) return saved * (W{1} - saved);
    if constexpr (U == Unary::tanh) return W{1} - saved * saved;
    if constexpr (U == Unary::inverse_sqrt) return W{-0.5} * saved * saved * saved;
    if constexpr (U == Unary::abs) return static_cast<W>((saved > W{0}) - (saved < W{0}));
    if constexpr (U == Unary::sin) return std::cos(saved);
    if constexpr (U == Unary::cos) return -std::sin(saved);
    if constexpr (U == Unary::power)
      return first == 0.0 ? W{0} : static_cast<W>(first) * std::pow(saved, static_cast<W>(first - 1.0));
    if constexpr (U == Unary::clamp)
      return static_cast<W>(saved >= static_cast<W>(first) && saved <= static_cast<W>(second));
    return -saved * saved;
  }
};

/// y = f(x), f the `function`, any shape: exp, log, sqrt, 1 / (1 + e^-x), tanh, 1 / x, with IEEE infinities
/// and NaNs; 1 / √x, which is 0 for x <= 0 (as gcn_normalize treats degrees); |x|, sin, cos; x^first; and
/// min(max(x, first), second), of which NaN stays NaN. `y` may be `x`.
struct UnaryArgs {
  Unary function;
  double first = 0.0, second = 0.0;  ///< exponent, or bounds
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "x", x);
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(unary, UnaryArgs)  ///< Element-wise function.

/// dx = dy * f'; `saved` is x if saves_input(function), else y. `dx` may be `dy`.
struct UnaryBackwardArgs {
  Unary function;
  double first = 0.0, second = 0.0;  ///< as for unary()
  const Tensor& saved;
  const Tensor& dy;
  Tensor& dx;

  Device device() const { return saved.device(); }  ///< of all arguments
  void check(std::string_view op) const {
    check_float(op, "saved", saved);
    check_like(op, {{"dy", dy}, {"dx", dx}}, saved);
  }
};
ADJ_KERNEL(unary_backward, UnaryBackwardArgs)  ///< The gradient of unary().

/// y = scale * x + shift, any shape. `y` may be `x`.
struct AffineArgs {
  double scale = 1.0;
  double shift = 0.0;
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "x", x);
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(affine, AffineArgs)  ///< Multiplies by one number and adds one.

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

/// Bytes of a bit for each of `n` elements.
constexpr int64_t sign_bytes(int64_t n) { return (n + 7) / 8; }

/// y = relu(x), any shape, and which elements are positive: bit k % 8 of byte k / 8 of `positive`, uint8
/// [ceil(n / 8)], for element k of n. All that the gradient needs, in an eighth of a byte each. `y` may be
/// `x`.
struct ReluArgs {
  const Tensor& x;
  Tensor& y;
  Tensor& positive;

  void check(std::string_view op) const {
    check_float(op, "x", x);
    check_like(op, "y", y, x);
    check_tensor(op, "positive", positive, {sign_bytes(x.numel())}, DType::u8, x.device());
  }
};
ADJ_KERNEL(relu, ReluArgs)  ///< relu, and the signs of its inputs.

/// dx = dy where the bit of `positive` is set, else 0 times dy. `dx` may be `dy`.
struct ReluBackwardArgs {
  const Tensor& positive;
  const Tensor& dy;
  Tensor& dx;

  Device device() const { return dy.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_float(op, "dy", dy);
    check_like(op, "dx", dx, dy);
    check_tensor(op, "positive", positive, {sign_bytes(dy.numel())}, DType::u8, dy.device());
  }
};
ADJ_KERNEL(relu_backward, ReluBackwardArgs)  ///< The gradient of relu().

/// Calls `f.template operator()<A>()` with A = `activation`.
template <class F>
decltype(auto) dispatch_activation(Activation activation, F&& f) {
  using enum Activation;
  return dispatch_value<relu, leaky_relu, elu, gelu, none>(activation, f);
}

}  // namespace kernels
}  // namespace adj
