#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>

namespace adj::kernels::cuda {

template <>
void own_spmm<bfloat16>(const SpmmArgs& args) {
  if (args.local)
    return run_own_spmm<bfloat16, true>(
        ItemLayouts<ItemLayout<4, 32, 1, 8>, ItemLayout<4, 16, 1, 8>, ItemLayout<4, 8, 1, 8>,
                    ItemLayout<1, 32>, ItemLayout<1, 8>>(),
        args);
  run_own_spmm<bfloat16, false>(
      ItemLayouts<ItemLayout<8, 32>, ItemLayout<8, 32, 2, 2>, ItemLayout<4, 32, 1, 8>,
                  ItemLayout<4, 16, 1, 8>, ItemLayout<8, 16>, ItemLayout<8, 8>, ItemLayout<4, 8, 1, 8>,
                  ItemLayout<8, 4>, ItemLayout<2, 32, 1, 8>, ItemLayout<2, 8>, ItemLayout<1, 32>,
                  ItemLayout<1, 8>>(),
      args);
}

}  // namespace adj::kernels::cuda
