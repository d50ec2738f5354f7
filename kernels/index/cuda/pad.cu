// One launch for all arrays; each has a row of blocks. Bytes: each array is read and written once.
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/index/pad.h>

#include <algorithm>

namespace adj::kernels::cuda {

namespace {

constexpr int kMostArrays = 32;

struct Array {
  const void* x;
  void* y;
  int64_t front, size;
  Ramp rest;
  DType dtype;
};

struct Arrays {
  Array list[kMostArrays];
};

template <class T>
__device__ __forceinline__ void pad(const Array& array) {
  const T* x = static_cast<const T*>(array.x);
  T* y = static_cast<T*>(array.y);
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < array.size; i += step)
    y[i] = i < array.front ? x[i] : static_cast<T>(array.rest(i - array.front));
}

__global__ void __launch_bounds__(kBlockThreads) pad_kernel(const __grid_constant__ Arrays arrays) {
  begin_overlapping();
  const Array& array = arrays.list[blockIdx.y];
  if (array.dtype == DType::i32) pad<int32_t>(array);
  if (array.dtype == DType::i64) pad<int64_t>(array);
  if (array.dtype == DType::f32) pad<float>(array);
}

}  // namespace

void pad_arrays(const PadArraysArgs& args) {
  constexpr int64_t kMostBlocks = 512;  // of an array: the others have theirs beside it
  const int device = args.device().index;
  for (size_t first = 0; first < args.arrays.size(); first += kMostArrays) {
    const size_t count = std::min<size_t>(kMostArrays, args.arrays.size() - first);
    Arrays arrays{};
    int64_t longest = 0;
    for (size_t k = 0; k < count; ++k) {
      const Padded& one = args.arrays[first + k];
      Tensor y = one.y;
      arrays.list[k] = {one.x.raw_data(), y.raw_mutable_data(), one.x.numel(), y.numel(), one.rest,
                        y.dtype()};
      longest = std::max(longest, y.numel());
    }
    const auto blocks =
        static_cast<unsigned>(std::min(kMostBlocks, ceil_div(longest, int64_t{kBlockThreads})));
    launch("pad_arrays", overlapping(device, dim3(blocks, static_cast<unsigned>(count)), kBlockThreads),
           pad_kernel, arrays);
  }
}

}  // namespace adj::kernels::cuda
