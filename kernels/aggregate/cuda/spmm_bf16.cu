#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>

namespace adj::kernels::cuda {

template <>
void own_spmm<bfloat16>(const SpmmArgs& args) {
  using S = bfloat16;
  static constexpr SpmmVariant<S> kVariants[] = {
      spmm_variant<S, 8, 32, 1, 4>(), spmm_variant<S, 8, 32, 2, 2>(), spmm_variant<S, 8, 16, 1, 4>(),
      spmm_variant<S, 8, 8, 1, 4>(),  spmm_variant<S, 8, 4, 1, 4>(),  spmm_variant<S, 4, 32, 1, 4>(),
      spmm_variant<S, 4, 32, 1, 8>(), spmm_variant<S, 2, 32, 1, 4>(), spmm_variant<S, 2, 8, 1, 4>(),
      spmm_variant<S, 1, 32, 1, 4>(), spmm_variant<S, 1, 8, 1, 4>(),
  };
  run_own_spmm(kVariants, args);
}

}  // namespace adj::kernels::cuda
