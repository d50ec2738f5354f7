#include <adjoint/kernels/aggregate/cuda/neighbor_launch.cuh>

namespace adj::kernels::cuda {

template <>
void reduce_neighbors<bfloat16>(const NeighborReduceArgs& args) {
  reduce_neighbors_with<bfloat16>(ItemLayouts<ItemLayout<8, 32>, ItemLayout<4, 32, 1, 8>, ItemLayout<2, 32>,
                                              ItemLayout<1, 32>, ItemLayout<2, 8>, ItemLayout<1, 8>>(),
                                  args);
}

}  // namespace adj::kernels::cuda
