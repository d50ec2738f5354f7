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

// How well scores rank the positives, which are rare, before the others: score [N], label [N] in {0, 1}, over
// the nodes selected by `index` [K], or all nodes without it. Labels and indices are int32 or int64. Throw
// for an empty selection, NaN scores and a selection without positives.

/// Area under the precision-recall curve as average precision, Σ (R_i - R_{i-1}) P_i over the distinct
/// scores from the highest, without interpolation (scikit-learn's average_precision_score).
double average_precision(const Tensor& score, const Tensor& label, const Tensor& index = {});
/// Mean of average_precision over the columns that have a positive; score and target float [N,T], NaN targets
/// are missing. Throws if no column has one.
double mean_average_precision(const Tensor& score, const Tensor& target, const Tensor& index = {});
/// Highest recall of a threshold whose precision is at least `precision`, in (0, 1]; 0 if there is none.
double recall_at_precision(double precision, const Tensor& score, const Tensor& label,
                           const Tensor& index = {});
/// Share of positives among the k nodes of the highest scores. Where the k-th score is tied, the mean over
/// the orders of the tied. Throws unless 1 <= k <= nodes.
double precision_at(int64_t k, const Tensor& score, const Tensor& label, const Tensor& index = {});
/// Share of all positives that are among the k nodes of the highest scores, likewise.
double recall_at(int64_t k, const Tensor& score, const Tensor& label, const Tensor& index = {});

}  // namespace adj::nn
