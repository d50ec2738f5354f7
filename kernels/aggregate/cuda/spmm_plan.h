#pragma once

#include <adjoint/kernels/aggregate/spmm_plan.h>

namespace adj::kernels::cuda {

/// The plan of a structure on a GPU, cached with it. Each item is run `launches` times in parallel (one head
/// each): the more, the fewer and larger the items, and the less workspace.
///
/// On the first use the host waits for the counts. A structure that a captured step builds has no counts
/// then: its plan has upper bounds instead, with empty items beyond the last, and each replay computes it
/// again. The order of sums is the same.
///
/// Measured on an H200, plans by bounds for good, against exact ones: spmm 1.04 to 1.43 of the time, GAT 1.13
/// to 1.71, maxima 1.14 to 1.94 (arxiv, hm, roads, tolokers; width 128). By bounds for the first uses only,
/// which saves the wait: GAT on sampled batches of arxiv 1.06, with two workers 1.13, links with an MLP 1.01
/// (medians of 4 to 9 epochs that vary by 5 %).
SpmmPlan spmm_plan(const Csr& a, int64_t launches = 1);

}  // namespace adj::kernels::cuda
