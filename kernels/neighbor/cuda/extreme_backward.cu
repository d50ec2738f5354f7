// Scattering costs an atomic for every result, gathering 8 bytes for every edge and feature, most of which
// come from the caches: where edges are few beside rows, that is less. Which way is taken depends on what was
// given alone (extreme_backward_gathers), and with it the bits.

#include <adjoint/kernels/neighbor/cuda/extreme_strategies.h>

namespace adj::kernels::cuda {

void neighbor_extreme_backward(const NeighborExtremeBackwardArgs& args) {
  if (args.transposed != nullptr) return gather_extreme_gradient(args);
  scatter_extreme_gradient(args);
}

}  // namespace adj::kernels::cuda
