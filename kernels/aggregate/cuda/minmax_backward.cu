// Scatter costs one atomic per result, gather 8 bytes per edge and feature, most of them from the caches: if
// there are few edges per row, gather is cheaper. The method, and with it the bits, depends only on the
// arguments (minmax_backward_gathers).

#include <adjoint/kernels/aggregate/ascending_rows.h>
#include <adjoint/kernels/aggregate/cuda/minmax_strategies.h>

namespace adj::kernels::cuda {

void neighbor_minmax_backward(const NeighborMinmaxBackwardArgs& args) {
  if (args.transposed == nullptr) return scatter_minmax_gradient(args);
  if (!parallel_entries_apart(args)) return gather_minmax_gradient(args);
  const Csr transposed = with_ascending_rows(*args.transposed, transpose);
  NeighborMinmaxBackwardArgs again = args;
  again.transposed = &transposed;
  gather_minmax_gradient(again);
}

}  // namespace adj::kernels::cuda
