#pragma once

#include <adjoint/graph/relation.h>
#include <adjoint/kernels/plan/aggregation_cost.h>

namespace adj::detail {

/// Relation::from_coo() of a list for this use, which decides whether it is sorted for its sums.
Relation list_for(const kernels::ListUse& use, int64_t num_src, int64_t num_dst, const Tensor& src,
                  const Tensor& dst);

}  // namespace adj::detail
