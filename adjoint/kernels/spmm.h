#pragma once

#include <adjoint/kernels/activation.h>
#include <adjoint/kernels/csr.h>

namespace adj::kernels {

/// Y[rows,F] = act(A X + bias), X [cols,F], bias [F] optional. The aggregation of GCN, SGC and weighted sums;
/// over the transposed structure it is their backward pass. Also the product of sparse features with a
/// weight. X and Y may be bfloat16 (values float32; accumulated in float32; activation none or relu). Each
/// row is summed in entry order or in a fixed tree that depends on the structure alone, never on threads.
/// Rows without entries give act(bias).
ADJ_KERNEL(void, spmm, const CsrMatrix& a, const Tensor& x, const Tensor& bias, Activation activation,
           Tensor& y)

/// dw[order[e] or e] = ⟨Y_i, X_j⟩ for entry e = (i, j) of A: the gradient of an aggregation's edge weights
/// (SDDMM), for dY as `y` [rows,F] and the forward input as `x` [cols,F]. `a.values` is not read. Nothing of
/// size entries x F exists.
ADJ_KERNEL(void, sddmm, const CsrMatrix& a, const Tensor& y, const Tensor& x, Tensor& dw)

/// Both gradients of Y = A(w) X in one pass over the transposed structure `at` (entry (j, i), order into w):
/// dX_j = Σ_i w_ij dY_i and dw_ij = ⟨dY_i, X_j⟩, each dY_i read once. `x` [N,F] is the forward input, dx
/// [N,F], dw [entries].
ADJ_KERNEL(void, spmm_backward, const CsrMatrix& at, const Tensor& dy, const Tensor& x, Tensor& dx,
           Tensor& dw)

}  // namespace adj::kernels
