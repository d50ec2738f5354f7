// Losses in which every row has a weight of its own, as GraphSAINT's estimate of the mean over all nodes has
// (data/loader/saint_loader.h). Sums over the rows that `index` [K] selects, Σ_k weight[k] loss(row
// index[k]), weight float32 [K]; there is at least one. In float32, of bfloat16 logits too; saved are the
// rows selected, as probabilities, and their targets. Labels and indices are int32, or int64, which costs a
// conversion; those out of range throw on the CPU.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// Softmax cross-entropy of logits x [N,C] and labels [N].
Var cross_entropy_sum(const Var& x, const Tensor& given, const Tensor& selected, const Tensor& weight);

/// Binary cross-entropy with logits, mean over columns, in which a target that is NaN counts 0; x and target
/// [N,T].
Var bce_with_logits_sum(const Var& x, const Tensor& target, const Tensor& selected, const Tensor& weight);

/// Squared error, mean over columns, in which a target that is NaN counts 0; x and target [N,T].
Var mse_sum(const Var& x, const Tensor& target, const Tensor& selected, const Tensor& weight);

}  // namespace adj
