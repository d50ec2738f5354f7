#pragma once

#include <adjoint/autograd/variable.h>

#include <optional>

namespace adj {

// Means over the rows that `index` [K] selects; a row that stands there twice counts twice. Easily missed: an
// absent index means every row. Labels and indices are int32, or int64, which costs a conversion. Where one
// is out of range the CPU throws at once, and a GPU, whose step goes on, when the loss is read. Scalars; of
// bfloat16 logits in float32. Beside these the targets of bce_with_logits and mse_loss and the weights of
// cross_entropy are float32 or bfloat16.

/// Softmax cross-entropy of logits x [N,C] and labels [N], in one fused pass.
Var cross_entropy(const Var& x, const Tensor& label, const Tensor& index = {});

/// The same where not all rows count alike.
struct CrossEntropyOptions {
  Tensor weight = {};                        ///< [C]: how much a row of each class counts; absent: 1
  std::optional<int32_t> ignore_index = {};  ///< rows with this label do not count, as -1 where it means none
};

/// cross_entropy(x, y, train, {.weight = w, .ignore_index = -1}): Σ w_i loss_i / Σ w_i over the selected rows
/// that are not ignored, as in PyTorch. Where there is none, or all weigh 0, the CPU throws; a GPU, which is
/// not asked in the middle of a step, leaves the loss and its gradient 0.
Var cross_entropy(const Var& x, const Tensor& given, const Tensor& selected,
                  const CrossEntropyOptions& options);

/// Binary cross-entropy with logits, its mean over the selected rows and all columns where target is not NaN,
/// which is no label; x and target [N,T] or [N]. Where all are NaN the CPU throws; a GPU, which is not asked
/// in the middle of a step, leaves the loss and its gradient 0.
Var bce_with_logits(const Var& x, const Tensor& target, const Tensor& index = {});

/// Squared error, likewise.
Var mse_loss(const Var& x, const Tensor& target, const Tensor& index = {});

}  // namespace adj
