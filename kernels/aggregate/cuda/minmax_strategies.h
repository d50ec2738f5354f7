#pragma once

#include <adjoint/kernels/aggregate/minmax_backward.h>

// The ways to bring the gradient of an extreme back that minmax_backward.cu chooses from. Arguments were
// checked.
namespace adj::kernels::cuda {

/// By integer atomics; float32 and bfloat16.
void scatter_minmax_gradient(const NeighborMinmaxBackwardArgs& args);
/// Over the transposed structure, which is given.
void gather_minmax_gradient(const NeighborMinmaxBackwardArgs& args);

}  // namespace adj::kernels::cuda
