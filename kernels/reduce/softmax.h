#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// Per row of x[N,C]: y = exp(x - m) / Σ exp(x - m) with m the row maximum, or with `log` its logarithm x - m
/// - log Σ exp(x - m). A row with NaN or +inf, or of only -inf, is NaN. `y` may be `x`.
struct SoftmaxArgs {
  bool log = false;
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(softmax, SoftmaxArgs)  ///< Softmax of each row, or its logarithm.

/// From the output y: dx = y (dy - Σ dy y), or with `log` dx = dy - exp(y) Σ dy. `dx` may be `dy`.
struct SoftmaxBackwardArgs {
  bool log = false;
  const Tensor& y;
  const Tensor& dy;
  Tensor& dx;

  void check(std::string_view op) const {
    check_matrix(op, "y", y);
    check_like(op, {{"dy", dy}, {"dx", dx}}, y);
  }
};
ADJ_KERNEL(softmax_backward, SoftmaxBackwardArgs)  ///< Gradient of softmax.

}  // namespace adj::kernels
