#pragma once

#include <adjoint/kernels/aggregate/spmm_plan.h>

namespace adj::kernels::cuda {

/// The plan of a structure on a GPU for products that need `slot_bytes` of workspace per slot, kept with the
/// structure. It begins with upper bounds of its numbers; the items beyond the last are empty. These are read
/// back, for which the host waits once, where bounds would ask for much workspace, where a step that is
/// captured uses it again, where a large structure is used a second time, and where a small one is by more
/// products than one step has: structures of batches never wait.
/// Where a capture meets a structure first, each replay makes the plan anew. Bounds or not, the order of sums
/// is the same. An item is worth `launches` of them side by side (heads that are taken one by one): the more,
/// the fewer and larger the items, and the less workspace. A plan that came with the structure
/// (carried_with_plan) is taken as it is.
SpmmPlan spmm_plan(const Csr& a, int64_t slot_bytes, int64_t launches = 1);

}  // namespace adj::kernels::cuda
