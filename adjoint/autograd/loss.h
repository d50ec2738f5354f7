#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

// Means over the rows that `index` (int32 [K], distinct) selects, or over all rows without it. Scalars.

/// Softmax cross-entropy of logits x [N,C] and labels int32 [N], in one fused pass.
Var cross_entropy(const Var& x, const Tensor& label, const Tensor& index = {});
/// Binary cross-entropy with logits, x and target [N,T].
Var bce_with_logits(const Var& x, const Tensor& target, const Tensor& index = {});
/// Squared error, x and target [N,T].
Var mse_loss(const Var& x, const Tensor& target, const Tensor& index = {});

}  // namespace adj
