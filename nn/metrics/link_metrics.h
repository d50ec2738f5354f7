#pragma once

#include <adjoint/core/tensor.h>

namespace adj::nn {

// How well scores tell edges (positive) from pairs of nodes without one (negative). Scores are float, on any
// device; one that is not a number throws, and so do none at all.

/// Area under the ROC curve: the chance that a positive scores above a negative, ties counted half. positive
/// [P], negative [Q].
double link_auc(const Tensor& positive, const Tensor& negative);
/// Hits\@k: the share of positives that score above the k-th best of all negatives; 1 where there are fewer
/// than k of them. positive [P], negative [Q] (Open Graph Benchmark, ogbl-collab, -ppa and -ddi; Hu et al.
/// 2020).
double hits_at(int64_t k, const Tensor& positive, const Tensor& negative);

/// float64 [P]: the rank of each positive among negatives of its own, 1 being the best; one that ties stands
/// in the middle of those that it ties with, as in the Open Graph Benchmark. positive [P], negative [P, Q],
/// or [Q] for the same ones for all.
Tensor link_ranks(const Tensor& positive, const Tensor& negative);
/// Mean of 1 / rank.
double mean_reciprocal_rank(const Tensor& ranks);
/// Share of ranks that are k or better.
double hits_at(int64_t k, const Tensor& ranks);

}  // namespace adj::nn
