// Selects the instance for reductions over neighbours. Bytes and saved data: neighbor_kernels.cuh.

#include <adjoint/kernels/aggregate/cuda/neighbor_launch.cuh>

namespace adj::kernels::cuda {

template <>
void reduce_neighbors<double>(const NeighborReduceArgs& args) {
  reduce_neighbors_with<double>(ScalarLayouts(), args);
}

void neighbor_reduce(const NeighborReduceArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() { reduce_neighbors<S>(args); });
}

}  // namespace adj::kernels::cuda
