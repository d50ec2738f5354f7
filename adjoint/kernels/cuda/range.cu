#include <adjoint/kernels/cuda/map.h>
#include <adjoint/kernels/range.h>

namespace adj::kernels::cuda {

namespace {

// The smallest of whole numbers does not depend on the order of the atomics, which only bad indices reach.
template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    first_outside_kernel(const T* index, int64_t n, int64_t limit, long long* position) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t k = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; k < n; k += step)
    if (index[k] < 0 || index[k] >= limit) atomicMin(position, static_cast<long long>(k));
}

}  // namespace

void first_outside(const Tensor& index, int64_t limit, Tensor& position) {
  const int64_t n = index.numel();
  position.fill_(static_cast<double>(n));
  if (n == 0) return;
  const int device = index.device().index;
  auto* out = static_cast<long long*>(position.raw_mutable_data());
  if (index.dtype() == DType::i32) {
    launch("first_outside", {.device = device, .blocks = blocks_for(n)}, first_outside_kernel<int32_t>,
           index.data<int32_t>(), n, limit, out);
  } else {
    launch("first_outside", {.device = device, .blocks = blocks_for(n)}, first_outside_kernel<int64_t>,
           index.data<int64_t>(), n, limit, out);
  }
}

}  // namespace adj::kernels::cuda
