#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>

namespace adj::kernels::cuda {

template <>
void own_spmm<double>(const SpmmArgs& args) {
  using S = double;
  static constexpr SpmmVariant<S> kVariants[] = {
      spmm_variant<S, 2, 32, 1, 4>(),
      spmm_variant<S, 2, 8, 1, 4>(),
      spmm_variant<S, 1, 32, 1, 4>(),
      spmm_variant<S, 1, 4, 1, 4>(),
  };
  run_own_spmm(kVariants, args);
}

}  // namespace adj::kernels::cuda
