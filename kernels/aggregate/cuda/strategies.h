#pragma once

#include <adjoint/kernels/aggregate/neighbor_backward.h>
#include <adjoint/kernels/aggregate/spmm.h>

// Methods for a sparse product in addition to the kernel over items (spmm_launch.cuh, plan/spmm_method.h).
// Arguments are already checked.
namespace adj::kernels::cuda {

/// Y = act(A X + bias) for a small float32 product in one launch and without a plan.
void small_spmm(const SpmmArgs& args);

/// With edge weights per head, [M,H].
void spmm_by_head(const SpmmArgs& args);
void sddmm_by_head(const SddmmArgs& args);
void spmm_backward_by_head(const SpmmBackwardArgs& args);

// Methods for the gradient of a maximum or minimum; neighbor_backward.cu chooses one. Arguments are already
// checked.

/// By integer atomics; float32 and bfloat16.
void scatter_minmax_gradient(const NeighborMinmaxBackwardArgs& args);
/// Over the transposed structure, which must be given.
void gather_minmax_gradient(const NeighborMinmaxBackwardArgs& args);

}  // namespace adj::kernels::cuda
