#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>

namespace adj::kernels::cuda {

template <>
void own_spmm<double>(const SpmmArgs& args) {
  run_own_spmm<double>(
      ItemLayouts<ItemLayout<2, 32>, ItemLayout<2, 8>, ItemLayout<1, 32>, ItemLayout<1, 4>>(), args);
}

}  // namespace adj::kernels::cuda
