#include <adjoint/kernels/aggregate/cuda/neighbor_launch.cuh>

namespace adj::kernels::cuda {

template <>
void reduce_neighbors<float>(const NeighborReduceArgs& args) {
  reduce_neighbors_with<float>(ItemLayouts<ItemLayout<4, 32>, ItemLayout<2, 32>, ItemLayout<4, 8>,
                                           ItemLayout<2, 8>, ItemLayout<1, 32>, ItemLayout<1, 8>>(),
                               args);
}

}  // namespace adj::kernels::cuda
