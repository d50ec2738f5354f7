#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/index/range.h>

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

void first_outside(const FirstOutsideArgs& args) {
  const int64_t limit = args.limit;
  const int64_t n = args.index.numel();
  args.position.fill_(static_cast<double>(n));
  if (n == 0) return;
  const int device = args.index.device().index;
  auto* out = static_cast<long long*>(args.position.raw_mutable_data());
  if (args.index.dtype() == DType::i32) {
    launch("first_outside", {.device = device, .blocks = blocks_for(n)}, first_outside_kernel<int32_t>,
           args.index.data<int32_t>(), n, limit, out);
  } else {
    launch("first_outside", {.device = device, .blocks = blocks_for(n)}, first_outside_kernel<int64_t>,
           args.index.data<int64_t>(), n, limit, out);
  }
}

}  // namespace adj::kernels::cuda
