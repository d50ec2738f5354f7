#pragma once

#include <adjoint/autograd/variable.h>

#include <optional>

namespace adj {

// Means over the rows that `index` [K] selects; a repeated row counts repeatedly. Note: an absent index means
// all rows. Labels and indices are int32, or int64 at the cost of a conversion. Out-of-range values throw at
// once on the CPU, and on a GPU when the host next reads from the device, at the latest the loss. Losses are
// scalars, float32 for bfloat16 logits. With those the targets of bce_with_logits and mse_loss and the
// weights of cross_entropy are float32 or bfloat16.

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
/// a step, gives loss and gradient 0.
Var bce_with_logits(const Var& x, const Tensor& target, const Tensor& index = {});

/// Squared error, with the same mean.
Var mse_loss(const Var& x, const Tensor& target, const Tensor& index = {});

}  // namespace adj
