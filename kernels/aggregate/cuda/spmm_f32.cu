#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>

namespace adj::kernels::cuda {

template <>
void own_spmm<float>(const SpmmArgs& args) {
  if (args.local)
    return run_own_spmm<float, true>(
        ItemLayouts<ItemLayout<4, 32, 1, 8>, ItemLayout<4, 32>, ItemLayout<2, 32, 1, 8>, ItemLayout<4, 8>,
                    ItemLayout<1, 32, 1, 8>, ItemLayout<1, 8>>(),
        args);
  run_own_spmm<float, false>(
      ItemLayouts<ItemLayout<4, 32, 1, 8>, ItemLayout<4, 32, 2>, ItemLayout<4, 32>, ItemLayout<2, 32, 1, 8>,
                  ItemLayout<4, 16>, ItemLayout<4, 8>, ItemLayout<4, 4>, ItemLayout<2, 8>,
                  ItemLayout<1, 32, 1, 8>, ItemLayout<1, 8>, ItemLayout<1, 4>>(),
      args);
}

}  // namespace adj::kernels::cuda
