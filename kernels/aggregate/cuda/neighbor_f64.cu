#include <adjoint/kernels/aggregate/cuda/neighbor_launch.cuh>

namespace adj::kernels::cuda {

template <>
void reduce_neighbors<double>(const NeighborReduceArgs& args) {
  reduce_neighbors_with<double>(ScalarLayouts(), args);
}

}  // namespace adj::kernels::cuda
