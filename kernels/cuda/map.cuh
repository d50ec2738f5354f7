#pragma once

#include <adjoint/core/cuda/launch.cuh>

namespace adj::kernels::cuda {

using namespace adj::cuda;

template <class T, int N, class F, class... Packs>
__device__ __forceinline__ Pack<T, N> map_pack(const F& f, const Packs&... packs) {
  Pack<T, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) result[k] = f(packs[k]...);
  return result;
}

// A thread takes a pack; the first threads also take what is left at the end. A pack is read before it is
// written, so the output may be an input.
template <int N, class T, class F, class... In>
__global__ void __launch_bounds__(kBlockThreads) map_kernel(int64_t n, F f, T* out, const In*... in) {
  begin_overlapping();
  const int64_t packs = n / N;
  const int64_t first = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first; i < packs; i += step) store(out + i * N, map_pack<T, N>(f, load<N>(in + i * N)...));
  if constexpr (N > 1) {
    if (const int64_t i = packs * N + first; i < n) out[i] = f(in[i]...);
  }
}

/// out[i] = f(in[i]...) for i in [0, n). `f` is a functor to copy to the device.
template <class T, class F, class... In>
void map(const char* name, int device, int64_t n, const F& f, T* out, const In*... in) {
  constexpr int kWidth = kVectorWidth<T>;
  if (aligned_to_16(out, in...)) {
    launch(name, {.device = device, .blocks = blocks_for(n, kWidth), .overlaps = true},
           map_kernel<kWidth, T, F, In...>, n, f, out, in...);
  } else {
    launch(name, {.device = device, .blocks = blocks_for(n), .overlaps = true}, map_kernel<1, T, F, In...>, n,
           f, out, in...);
  }
}

}  // namespace adj::kernels::cuda
