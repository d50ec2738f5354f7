#pragma once

#include <adjoint/kernels/aggregate/minmax_backward.h>

// Methods for the gradient of a maximum or minimum; minmax_backward.cu chooses one. Arguments are already
// checked.
namespace adj::kernels::cuda {

/// By integer atomics; float32 and bfloat16.
void scatter_minmax_gradient(const NeighborMinmaxBackwardArgs& args);
/// Over the transposed structure, which must be given.
void gather_minmax_gradient(const NeighborMinmaxBackwardArgs& args);

}  // namespace adj::kernels::cuda
