#pragma once

#include <adjoint/kernels/aggregate/spmm_plan.h>

namespace adj::kernels::cuda {

/// The plan of a structure on a GPU, cached with it. Each item is run `launches` times in parallel (one head
/// each): the more, the fewer and larger the items, and the less workspace.
///
/// On the first use the host waits for the counts. A structure that a captured step builds has no counts
/// then: its plan has upper bounds instead, with empty items beyond the last, and each replay computes it
/// again. The order of sums is the same.
SpmmPlan spmm_plan(const Csr& a, int64_t launches = 1);

}  // namespace adj::kernels::cuda
