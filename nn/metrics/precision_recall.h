#pragma once

#include <adjoint/core/tensor.h>

namespace adj::nn {

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
