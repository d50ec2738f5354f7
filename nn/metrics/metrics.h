#pragma once

#include <adjoint/core/tensor.h>

namespace adj::nn {

// Over the nodes that `index` [K] selects, or all nodes without it. An empty selection throws. Labels and
// indices are int32 or int64.

/// Share of nodes whose largest logit (ties to the smallest class) is their label; logits [N,C], label [N].
double accuracy(const Tensor& logits, const Tensor& label, const Tensor& index = {});
/// Mean over the classes of F1 = 2 tp / (2 tp + fp + fn); a class that is neither predicted nor present is
/// left out.
double macro_f1(const Tensor& logits, const Tensor& label, const Tensor& index = {});
/// Area under the ROC curve, by ranks with ties counted half; score [N], label [N] in {0, 1}. Throws
/// where only one class is present.
double roc_auc(const Tensor& score, const Tensor& label, const Tensor& index = {});

// Of several columns at once: score, prediction and target are float [N,T]. A target that is NaN is none:
// that node is left out of that column.

/// Mean of roc_auc over the columns in which the selected targets (0 or 1) are not all the same; the others
/// are left out, as in the Open Graph Benchmark (Hu et al. 2020). Throws where all are.
double mean_roc_auc(const Tensor& score, const Tensor& target, const Tensor& index = {});
/// F1 = 2 tp / (2 tp + fp + fn) counted over all columns together, where a logit above 0 predicts 1. Throws
/// where nothing is predicted and nothing present.
double micro_f1(const Tensor& logits, const Tensor& target, const Tensor& index = {});
/// Coefficient of determination 1 - Σ (t - p)² / Σ (t - mean t)², its mean over the columns whose selected
/// targets differ; the others are left out. Throws where none does.
double r2(const Tensor& prediction, const Tensor& target, const Tensor& index = {});
/// Mean of |t - p| over the selected rows and all columns. Throws where there is no target.
double mean_absolute_error(const Tensor& prediction, const Tensor& target, const Tensor& index = {});

}  // namespace adj::nn
