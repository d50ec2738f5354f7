#pragma once

#include <adjoint/kernels/aggregate/spmm_plan.h>

namespace adj::kernels::cuda {

/// The plan of a structure on a GPU for products that need `slot_bytes` of workspace per slot, cached with
/// the structure. Initially its counts are upper bounds and the items beyond the last are empty. The exact
/// counts are read back, which blocks the host once, if
/// - bounds would need a large workspace,
/// - a captured step uses the plan again,
/// - a large structure is used a second time, or
/// - a small one is used by more products than one step has: structures of batches never wait.
///
/// If a capture is the first use of a structure, each replay computes the plan again. The order of sums is
/// the same with and without bounds. Each item is run `launches` times in parallel (one head each): the more,
/// the fewer and larger the items, and the less workspace. A plan that came with the structure
/// (carried_with_plan) is used unchanged.
SpmmPlan spmm_plan(const Csr& a, int64_t slot_bytes, int64_t launches = 1);

}  // namespace adj::kernels::cuda
