#include <adjoint/core/cuda/check.h>

#include <algorithm>

namespace adj::cuda {

int oldest_architecture() {
  constexpr int kBuilt[] = {__CUDA_ARCH_LIST__};
  return *std::min_element(std::begin(kBuilt), std::end(kBuilt)) / 10;
}

}  // namespace adj::cuda
