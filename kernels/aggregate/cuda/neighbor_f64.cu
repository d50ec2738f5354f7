#include <adjoint/kernels/aggregate/cuda/neighbor_launch.cuh>

namespace adj::kernels::cuda {

template <>
void reduce_neighbors<double>(const NeighborReduceArgs& args) {
  reduce_neighbors_with<double>(ItemLayouts<ItemLayout<1, 32>, ItemLayout<1, 8>>(),
                                ItemLayouts<ItemLayout<1, 32>, ItemLayout<1, 8>>(), args);
}

}  // namespace adj::kernels::cuda
