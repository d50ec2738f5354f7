#pragma once

#include <adjoint/kernels/neighbor/extreme_backward.h>

// The ways to bring the gradient of an extreme back that extreme_backward.cu chooses from. Arguments were
// checked.
namespace adj::kernels::cuda {

/// By integer atomics; float32 and bfloat16.
void scatter_extreme_gradient(const NeighborExtremeBackwardArgs& args);
/// Over the transposed structure, which is given.
void gather_extreme_gradient(const NeighborExtremeBackwardArgs& args);

}  // namespace adj::kernels::cuda
