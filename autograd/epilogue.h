#pragma once

#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/elementwise/activation.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj::detail {

/// The gradient at a product z, behind y = act(z + bias): through relu where its output `y` was saved, and
/// the bias's share of it as input `bias` of the op. What linear and spmm have in common.
inline Tensor through_epilogue(const Saved& y, size_t bias, Tensor dy, Gradients& out) {
  if (y) {
    Tensor dz = reuse(dy);
    kernels::activate_backward({.activation = Activation::relu, .x = y.get(), .dy = dy, .dx = dz});
    dy = std::move(dz);
  }
  if (out.wanted(bias)) {
    Tensor dbias = Tensor::empty({dy.size(1)}, dy.dtype(), dy.device());
    kernels::sum_rows({.x = dy, .y = dbias});
    out.add(bias, dbias);
  }
  return dy;
}

}  // namespace adj::detail
