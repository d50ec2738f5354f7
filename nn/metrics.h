#pragma once

#include <adjoint/core/tensor.h>

namespace adj::nn {

// Over the nodes that `index` (int32 [K]) selects, or all nodes without it. An empty selection throws.

/// Share of nodes whose largest logit (ties to the smallest class) is their label; logits [N,C], label int32
/// [N].
double accuracy(const Tensor& logits, const Tensor& label, const Tensor& index = {});
/// Mean over the classes of F1 = 2 tp / (2 tp + fp + fn); a class that is neither predicted nor present is
/// left out.
double macro_f1(const Tensor& logits, const Tensor& label, const Tensor& index = {});
/// Area under the ROC curve, by ranks with ties counted half; score [N], label int32 [N] in {0, 1}. Throws
/// where only one class is present.
double roc_auc(const Tensor& score, const Tensor& label, const Tensor& index = {});

}  // namespace adj::nn
