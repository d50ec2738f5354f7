// Losses with a weight per row, such as GraphSAINT's estimate of the mean over all nodes
// (data/loader/saint_loader.h). Sums over the rows that `index` [K] selects, Σ_k weight[k] loss(row
// index[k]), weight float32 [K] (for float64 logits also float64), K at least 1. Computed in float32, also
// for bfloat16 logits; saved: the selected rows, as probabilities, and their targets. Labels and indices are
// int32, or int64 at the cost of a conversion; out-of-range ones throw on the CPU.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// Softmax cross-entropy of logits x [N,C] and labels [N].
Var cross_entropy_sum(const Var& x, const Tensor& target, const Tensor& selected, const Tensor& weight);

/// Binary cross-entropy with logits, mean over columns; NaN targets contribute 0. x and target [N,T]. With
/// `positive`, float32 [T], p_t (-y log σ(x)) - (1 - y) log σ(-x), as PyTorch's pos_weight.
Var bce_with_logits_sum(const Var& x, const Tensor& target, const Tensor& selected, const Tensor& weight,
                        const Tensor& positive = {});
/// The same by column as a mean: bce_with_logits() (autograd/loss.h) with `positive`, over all selected rows
/// and columns with a label. `selected` may be absent: all rows.
Var bce_with_logits(const Var& x, const Tensor& target, const Tensor& selected, const Tensor& positive);

/// Squared error, mean over columns; NaN targets contribute 0. x and target [N,T].
Var mse_sum(const Var& x, const Tensor& target, const Tensor& selected, const Tensor& weight);

}  // namespace adj
