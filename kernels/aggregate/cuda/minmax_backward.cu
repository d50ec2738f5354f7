// Scattering costs an atomic for every result, gathering 8 bytes for every edge and feature, most of which
// come from the caches: where edges are few beside rows, that is less. Which way is taken depends on what was
// given alone (minmax_backward_gathers), and with it the bits.

#include <adjoint/kernels/aggregate/ascending_rows.h>
#include <adjoint/kernels/aggregate/cuda/minmax_strategies.h>

namespace adj::kernels::cuda {

void neighbor_minmax_backward(const NeighborMinmaxBackwardArgs& args) {
  if (args.transposed == nullptr) return scatter_minmax_gradient(args);
  if (!parallel_entries_apart(args)) return gather_minmax_gradient(args);
  const Csr at = with_ascending_rows(*args.transposed, transpose);
  NeighborMinmaxBackwardArgs again = args;
  again.transposed = &at;
  gather_minmax_gradient(again);
}

}  // namespace adj::kernels::cuda
