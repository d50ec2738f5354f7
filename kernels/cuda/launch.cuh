#pragma once

// Shapes of launches, and kernels with one thread per index.

#include <adjoint/core/cuda/launch.cuh>

#include <type_traits>

namespace adj::kernels::cuda {

using namespace adj::cuda;

/// Null for an absent tensor.
inline dim3 grid(int64_t x, int64_t y = 1, int64_t z = 1) {
  return {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
}

/// This block's place in a matrix of blocks with `rows` rows, column by column. Such a matrix is launched
/// along x: a grid ends at 65,535 in y and z, and at 2^31 - 1 in x.
struct BlockPlace {
  int64_t row, column;
  __device__ explicit BlockPlace(int64_t rows)
      : row(blockIdx.x % static_cast<unsigned>(rows)), column(blockIdx.x / static_cast<unsigned>(rows)) {}
};

/// Shape for a kernel that calls begin_overlapping().
inline LaunchShape overlapping(int device, dim3 blocks, dim3 threads = kBlockThreads,
                               size_t shared_bytes = 0) {
  return {device, blocks, threads, shared_bytes, true};
}
/// The same with one thread per `per_thread` of `items`.
inline LaunchShape over(int device, int64_t items, int per_thread = 1) {
  return overlapping(device, blocks_for(items, per_thread));
}

// blocks_for() covers every n that fits in memory: no grid stride.
template <class Index, class F>
__global__ void __launch_bounds__(kBlockThreads) for_each_kernel(Index n, F f) {
  begin_overlapping();
  const Index i = static_cast<Index>(blockIdx.x) * kBlockThreads + threadIdx.x;
  if (i < n) f(i);
}

/// f(i) for i in [0, n), one thread each. `f` is copied to the device.
template <class F>
void for_each(const char* name, int device, int64_t n, const F& f) {
  launch(name, over(device, n), for_each_kernel<int64_t, F>, n, f);
}

/// The same with `make.template operator()<Index>()`, where Index is uint32_t if that can count to n: its
/// division is several times cheaper.
template <class Make>
void for_each_narrow(const char* name, int device, int64_t n, Make&& make) {
  const auto go = [&]<class Index>() {
    const auto f = make.template operator()<Index>();
    launch(name, over(device, n), for_each_kernel<Index, std::remove_const_t<decltype(f)>>,
           static_cast<Index>(n), f);
  };
  n < (int64_t{1} << 31) ? go.template operator()<uint32_t>() : go.template operator()<int64_t>();
}

}  // namespace adj::kernels::cuda
