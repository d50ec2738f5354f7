#pragma once

#include <adjoint/core/tensor.h>

namespace adj::nn {

// Computed over the nodes selected by `index` [K], or all nodes without it. Throws for an empty selection.
// Labels and indices are int32 or int64.

/// Share of nodes whose largest logit (ties to the smallest class) is their label; logits [N,C], label [N].
double accuracy(const Tensor& logits, const Tensor& label, const Tensor& index = {});
/// Mean over the classes of F1 = 2 tp / (2 tp + fp + fn); classes neither predicted nor present are left out.
double macro_f1(const Tensor& logits, const Tensor& label, const Tensor& index = {});
/// Area under the ROC curve, by ranks with ties counted half; score [N], label [N] in {0, 1}. Throws if only
/// one class is present.
double roc_auc(const Tensor& score, const Tensor& label, const Tensor& index = {});

// Several columns at once: score, prediction and target are float [N,T]. A NaN target is missing: that node
// is left out of that column.

/// Mean of roc_auc over the columns whose selected targets (0 or 1) contain both classes; the others are left
/// out, as in the Open Graph Benchmark (Hu et al. 2020). Throws if none is left.
double mean_roc_auc(const Tensor& score, const Tensor& target, const Tensor& index = {});
/// F1 = 2 tp / (2 tp + fp + fn) counted over all columns together; a logit above 0 predicts 1. Throws if
/// nothing is predicted and nothing is present.
double micro_f1(const Tensor& logits, const Tensor& target, const Tensor& index = {});
/// Coefficient of determination 1 - Σ (t - p)² / Σ (t - mean t)², averaged over the columns whose selected
/// targets differ. Throws if there is no such column.
double r2(const Tensor& prediction, const Tensor& target, const Tensor& index = {});
/// Mean of |t - p| over the selected rows and all columns. Throws if there is no target.
double mean_absolute_error(const Tensor& prediction, const Tensor& target, const Tensor& index = {});

}  // namespace adj::nn
