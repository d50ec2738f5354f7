#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

// Losses are means over the rows that `index` (int32 [K], distinct, in range) selects, or over all rows where
// it is absent; `loss` has one element. The backward passes take dloss (one element, on the device), write
// every row of the gradient, zeros where a row was not selected, and recompute what the forward pass knew:
// nothing is saved but the inputs. K = 0 is an error.

/// loss = mean_k ( log Σ_c exp x[i,c] - x[i, label[i]] ), i = index[k]; x [N,C], label int32 [N] in [0, C).
ADJ_KERNEL(void, softmax_cross_entropy, const Tensor& x, const Tensor& label, const Tensor& index,
           Tensor& loss)
ADJ_KERNEL(void, softmax_cross_entropy_backward, const Tensor& x, const Tensor& label, const Tensor& index,
           const Tensor& dloss, Tensor& dx)

/// loss = mean over selected rows and all columns of max(x,0) - x t + log(1 + exp(-|x|)); x, t [N,T].
ADJ_KERNEL(void, bce_with_logits, const Tensor& x, const Tensor& target, const Tensor& index, Tensor& loss)
ADJ_KERNEL(void, bce_with_logits_backward, const Tensor& x, const Tensor& target, const Tensor& index,
           const Tensor& dloss, Tensor& dx)

/// loss = mean over selected rows and all columns of (x - t)^2; x, t [N,T].
ADJ_KERNEL(void, mse, const Tensor& x, const Tensor& target, const Tensor& index, Tensor& loss)
ADJ_KERNEL(void, mse_backward, const Tensor& x, const Tensor& target, const Tensor& index,
           const Tensor& dloss, Tensor& dx)

}  // namespace adj::kernels
