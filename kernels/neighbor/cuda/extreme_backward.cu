// Scattering costs an atomic for every result, gathering 8 bytes for every edge and feature, most of which
// come from the caches: where edges are few beside rows, that is less. Which way is taken depends on what was
// given alone (extreme_backward_gathers), and with it the bits.

#include <adjoint/kernels/neighbor/ascending_rows.h>
#include <adjoint/kernels/neighbor/cuda/extreme_strategies.h>

namespace adj::kernels::cuda {

void neighbor_extreme_backward(const NeighborExtremeBackwardArgs& args) {
  if (args.transposed == nullptr) return scatter_extreme_gradient(args);
  if (!parallel_entries_apart(args)) return gather_extreme_gradient(args);
  const Csr at = with_ascending_rows(*args.transposed, transpose);
  NeighborExtremeBackwardArgs again = args;
  again.transposed = &at;
  gather_extreme_gradient(again);
}

}  // namespace adj::kernels::cuda
