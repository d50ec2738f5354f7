#pragma once

#include <adjoint/kernels/sparse/coo.h>

namespace adj::kernels {

/// dw_e = Σ dy_i,f x_j,f over the features f that entry e = (i, j) won: winner_i,f = e. The gradient of the
/// weights of a maximum or minimum of w_e x_j. `a` lists the entries in the order of the weights; `winner`
/// int32 [rows,F] in [-1, M); `dy` [rows,F]; `x` [cols,F]; `dw` [M] of the accumulator dtype. Summed over f
/// in a fixed order.
struct MinmaxWeightGradientArgs {
  const Coo& a;
  const Tensor& winner;
  const Tensor& dy;
  const Tensor& x;
  Tensor& dw;

  Device device() const { return a.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_coo(op, a);
    check_matrix(op, "x", x);
    const Shape of_rows{a.rows, x.size(1)};
    check_tensor(op, "x", x, {a.cols, x.size(1)}, x.dtype(), a.device());
    check_tensor(op, "dy", dy, of_rows, x.dtype(), a.device());
    check_tensor(op, "winner", winner, of_rows, DType::i32, a.device());
    check_tensor(op, "dw", dw, {a.entries()}, accumulator_dtype(x.dtype()), a.device());
  }
};
ADJ_KERNEL(minmax_weight_gradient, MinmaxWeightGradientArgs)  ///< Gradient of weights.

}  // namespace adj::kernels
