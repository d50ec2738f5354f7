#pragma once

// Deterministic reductions: per-thread sums, a tree over the block's threads, and a merge of all blocks'
// partial sums in block order by the last block to finish, whichever that is. The partition depends only on
// the sizes and the device, so the same device gives the same bits. Accumulators are double (or int64): the
// loads hide the arithmetic.

#include <adjoint/kernels/cuda/map.cuh>

namespace adj::kernels::cuda {

/// Sum over the 2^k lanes that differ in the lower k bits, the same on all of them.
template <int kLanes, class T>
__device__ __forceinline__ T sum_of_lanes(T value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

/// A sum and its number of terms.
struct Counted {
  double sum, count;
  __device__ Counted& operator+=(const Counted& other) {
    sum += other.sum;
    count += other.count;
    return *this;
  }
};
template <int kLanes>
__device__ __forceinline__ Counted sum_of_lanes(Counted value) {
  return {sum_of_lanes<kLanes>(value.sum), sum_of_lanes<kLanes>(value.count)};
}

/// Partial result of another block.
template <class T>
__device__ __forceinline__ T left_by_block(const T* partial) {
  return __ldcg(partial);
}
__device__ __forceinline__ Counted left_by_block(const Counted* partial) {
  return {__ldcg(&partial->sum), __ldcg(&partial->count)};
}

template <int kLanes, class T>
__device__ __forceinline__ T largest_of_lanes(T value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, offset);
    value = other > value ? other : value;
  }
  return value;
}

/// Sum over a block of kBlockThreads, valid in thread 0.
template <class T>
__device__ T sum_of_block(T value) {
  constexpr int kWarps = kBlockThreads / 32;
  __shared__ T of_warp[kWarps];
  value = sum_of_lanes<32>(value);
  __syncthreads();  // earlier readers of of_warp are done
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  T sum{};
  if (threadIdx.x == 0) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += of_warp[w];
  }
  return sum;
}

/// Call after every thread has written its results to global memory: whether this is the last of `blocks`
/// blocks to arrive at the counter. The last one sees all results (it must read them by __ldcg) and resets
/// the counter.
__device__ __forceinline__ bool is_last_block(unsigned* counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(counter, 1u) == blocks - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

/// finish(grid-wide sum of `value`) in one thread. `partial` has room for one value per block.
template <class Acc, class Finish>
__device__ void finish_grid_sum(Acc value, const Finish& finish, Acc* partial, unsigned* counter) {
  value = sum_of_block(value);
  if (gridDim.x > 1) {
    if (threadIdx.x == 0) partial[blockIdx.x] = value;
    if (!is_last_block(counter, gridDim.x)) return;
    Acc share{};
    for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlockThreads) share += left_by_block(partial + b);
    value = sum_of_block(share);
  }
  if (threadIdx.x == 0) finish(value);
}

template <class Acc, class Load, class Finish>
__global__ void __launch_bounds__(kBlockThreads)
    flat_sum_kernel(int64_t items, Load load, Finish finish, Acc* partial, unsigned* counter) {
  begin_overlapping();
  Acc sum{};
  const int64_t step = int64_t{gridDim.x} * kBlockThreads;
#pragma unroll 4
  for (int64_t i = blockIdx.x * int64_t{kBlockThreads} + threadIdx.x; i < items; i += step) sum += load(i);
  finish_grid_sum(sum, finish, partial, counter);
}

/// Number of blocks for a sum over `items` with one partial result per block; at least one.
inline unsigned blocks_for_sum(int device, int64_t items, int per_block = kBlockThreads) {
  const int64_t most = int64_t{properties(device).multiprocessors} * 4;
  return static_cast<unsigned>(std::clamp<int64_t>(ceil_div(items, per_block), 1, most));
}

/// Scratch for `count` doubles or int64.
inline Tensor partials(int device, int64_t count) {
  return Tensor::empty({count}, DType::f64, Device::cuda(device));
}

/// finish(Σ load(i)) over i in [0, items), in one launch. Both are functors copied to the device.
template <class Acc, class Load, class Finish>
void flat_sum(const char* name, int device, int64_t items, const Load& load, const Finish& finish) {
  static_assert(sizeof(Acc) % sizeof(double) == 0);
  const unsigned blocks = blocks_for_sum(device, items, 4 * kBlockThreads);
  Tensor partial = partials(device, blocks * static_cast<int64_t>(sizeof(Acc) / sizeof(double)));
  launch(name, overlapping(device, blocks), flat_sum_kernel<Acc, Load, Finish>, items, load, finish,
         static_cast<Acc*>(partial.raw_mutable_data()), arrival_counters(device));
}

}  // namespace adj::kernels::cuda
