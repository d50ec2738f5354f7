#pragma once

#include <adjoint/autograd/variable.h>

#include <optional>

namespace adj {

// Means over the rows that `index` [K] selects; a repeated row counts repeatedly. Note: an absent index means
// all rows. Labels and indices are int32, or int64 at the cost of a conversion. Out-of-range values throw at
// once on the CPU, and on a GPU when the host next reads from the device, at the latest the loss. Losses are
// scalars, float32 for bfloat16 logits. With those the targets of bce_with_logits and mse_loss and the
// weights of classes and of positive labels are float32 or bfloat16.

/// Softmax cross-entropy of logits x [N,C] and labels [N], in one fused pass.
Var cross_entropy(const Var& x, const Tensor& label, const Tensor& index = {});

/// Options for a weighted cross-entropy.
struct CrossEntropyOptions {
  Tensor weight = {};                        ///< [C]: weight of each class; absent: 1
  std::optional<int32_t> ignore_index = {};  ///< rows with this label are skipped, such as -1 for "no label"
};

/// cross_entropy(x, y, train, {.weight = w, .ignore_index = -1}): Σ w_i loss_i / Σ w_i over the selected rows
/// that are not ignored, as in PyTorch. If none is left, or all weights are 0, the CPU throws; a GPU, which
/// does not synchronize within a step, gives loss and gradient 0.
Var cross_entropy(const Var& x, const Tensor& target, const Tensor& selected,
                  const CrossEntropyOptions& options);

/// Binary cross-entropy with logits, averaged over the selected rows and all columns with a label (target not
/// NaN); x and target [N,T] or [N]. If all are NaN, the CPU throws; a GPU, which does not synchronize within
/// a step, gives loss and gradient 0. `positive` [T], 1 if absent: weights p_t of the labels that are 1, as
/// PyTorch's pos_weight: p_t y (-log σ(x)) - (1 - y) log σ(-x).
Var bce_with_logits(const Var& x, const Tensor& target, const Tensor& index = {},
                    const Tensor& positive = {});

/// Squared error, with the same mean.
Var mse_loss(const Var& x, const Tensor& target, const Tensor& index = {});

// Losses with a weight per row, such as GraphSAINT's estimate of the mean over all nodes
// (data/loader/saint_loader.h). Sums over the rows that `selected` [K] selects, Σ_k weight[k] loss(row
// selected[k]), weight float32 [K] (for float64 logits also float64), K at least 1. Computed in float32, also
// for bfloat16 logits; saved: the selected rows, as probabilities, and their targets.

/// Softmax cross-entropy of logits x [N,C] and labels [N].
Var cross_entropy_sum(const Var& x, const Tensor& target, const Tensor& selected, const Tensor& weight);

/// Binary cross-entropy with logits, mean over columns; NaN targets contribute 0. x and target [N,T];
/// `positive` [T] as of bce_with_logits.
Var bce_with_logits_sum(const Var& x, const Tensor& target, const Tensor& selected, const Tensor& weight,
                        const Tensor& positive = {});

/// Squared error, mean over columns; NaN targets contribute 0. x and target [N,T].
Var mse_sum(const Var& x, const Tensor& target, const Tensor& selected, const Tensor& weight);

}  // namespace adj
