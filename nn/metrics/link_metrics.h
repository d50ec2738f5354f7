#pragma once

#include <adjoint/core/tensor.h>

namespace adj::nn {

// How well scores separate edges (positives) from pairs without an edge (negatives). Scores are float, on any
// device. Throws for NaN scores or none at all.

/// Area under the ROC curve: probability that a positive scores above a negative, ties counted half. positive
/// [P], negative [Q].
double link_auc(const Tensor& positive, const Tensor& negative);
/// Hits\@k: share of positives that score above the k-th best negative; 1 if there are fewer than k
/// negatives. positive [P], negative [Q] (Open Graph Benchmark, ogbl-collab, -ppa and -ddi; Hu et al. 2020).
double hits_at(int64_t k, const Tensor& positive, const Tensor& negative);

/// float64 [P]: rank of each positive among its own negatives, 1 is the best; ties get the middle rank, as in
/// the Open Graph Benchmark. positive [P], negative [P, Q], or [Q] shared by all.
Tensor link_ranks(const Tensor& positive, const Tensor& negative);
/// Mean of 1 / rank.
double mean_reciprocal_rank(const Tensor& ranks);
/// Share of ranks that are at most k.
double hits_at(int64_t k, const Tensor& ranks);

}  // namespace adj::nn
