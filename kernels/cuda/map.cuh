#pragma once

#include <adjoint/kernels/cuda/launch.cuh>

#include <type_traits>

namespace adj::kernels::cuda {

/// load and store with conversion to and from the compute type.
template <int N, class S>
__device__ __forceinline__ Pack<Accumulator<S>, N> load_wide(const S* address) {
  const Pack<S, N> stored = load<N>(address);
  if constexpr (std::is_same_v<S, Accumulator<S>>) {
    return stored;
  } else {
    Pack<Accumulator<S>, N> pack;
#pragma unroll
    for (int k = 0; k < N; ++k) pack[k] = widen(stored[k]);
    return pack;
  }
}
template <int N, class S>
__device__ __forceinline__ void store_narrow(S* address, const Pack<Accumulator<S>, N>& pack) {
  if constexpr (std::is_same_v<S, Accumulator<S>>) {
    store(address, pack);
  } else {
    Pack<S, N> stored;
#pragma unroll
    for (int k = 0; k < N; ++k) stored[k] = narrow<S>(pack[k]);
    store(address, stored);
  }
}

template <class S, int N, class F, class... Packs>
__device__ __forceinline__ Pack<Accumulator<S>, N> map_pack(const F& f, const Packs&... packs) {
  Pack<Accumulator<S>, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) result[k] = f(packs[k]...);
  return result;
}

// One pack per thread; the first threads also handle the tail. A pack is read before it is written, so
// in-place is allowed.
template <int N, class S, class F, class... In>
__global__ void __launch_bounds__(kBlockThreads) map_kernel(int64_t n, F f, S* out, const In*... in) {
  begin_overlapping();
  const int64_t packs = n / N;
  const int64_t first = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first; i < packs; i += step)
    store_narrow<N>(out + i * N, map_pack<S, N>(f, load_wide<N>(in + i * N)...));
  if constexpr (N > 1) {
    if (const int64_t i = packs * N + first; i < n) out[i] = narrow<S>(f(widen(in[i])...));
  }
}

/// out[i] = f(in[i]...) for i in [0, n). `f` is a functor copied to the device, on values of the compute
/// type.
template <class S, class F, class... In>
void map(const char* name, int device, int64_t n, const F& f, S* out, const In*... in) {
  constexpr int kWidth = kVectorWidth<S>;
  if (aligned_to_16(out, in...)) {
    launch(name, over(device, n, kWidth), map_kernel<kWidth, S, F, In...>, n, f, out, in...);
  } else {
    launch(name, over(device, n), map_kernel<1, S, F, In...>, n, f, out, in...);
  }
}

/// Calls `f.template operator()<N>()` with the widest pack that aligned rows of `width` values of T allow; 1
/// in float64, which only gradient checks use.
template <class T, class F>
void dispatch_pack(int64_t width, bool aligned, F&& f) {
  if constexpr (sizeof(T) < 8)
    if (aligned && width % kVectorWidth<T> == 0) return f.template operator()<kVectorWidth<T>>();
  f.template operator()<1>();
}

}  // namespace adj::kernels::cuda
