#pragma once

#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/elementwise/activation.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj::detail {

// Shared by ops with a fused bias and relu.

/// Marks y, just recorded by an op that applied `activation`, as the output of a relu if it is one.
inline Var after(Activation activation, Var y) {
  return activation == Activation::relu ? from_relu(std::move(y)) : y;
}
/// The gradient at z for y = act(z): through relu if its output `y` was saved.
inline Tensor through_activation(const Saved& y, Tensor dy, const Gradients& out) {
  if (!y || out.through_relu()) return dy;
  Tensor dz = reuse(dy);
  kernels::activate_backward({.activation = Activation::relu, .x = y.get(), .dy = dy, .dx = dz});
  return dz;
}
/// The gradient of a bias [F], input `bias` of the op, from dz [N,F].
inline void bias_gradient(const Tensor& dz, size_t bias, Gradients& out) {
  if (!out.wanted(bias)) return;
  Tensor dbias = Tensor::empty({dz.size(1)}, dz.dtype(), dz.device());
  kernels::sum_rows({.x = dz, .y = dbias});
  out.add(bias, dbias);
}

}  // namespace adj::detail
