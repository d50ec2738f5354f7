#pragma once

#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels::cuda {

/// Index of the first element of sorted `keys[0, n)` that is not less than `value`.
template <class T>
__device__ int64_t lower_bound(const T* keys, int64_t n, T value) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = (low + high) >> 1;
    if (keys[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Index of the first element of sorted `keys[0, n)` that is greater than `value`.
template <class T>
__device__ int64_t upper_bound(const T* keys, int64_t n, T value) {
  return lower_bound(keys, n, value + 1);
}

constexpr int kEntryThreads = 256;
constexpr int kEntriesPerBlock = 8 * kEntryThreads;

template <class F>
__global__ void __launch_bounds__(kEntryThreads)
    entries_kernel(const int64_t* offsets, int64_t rows, int64_t entries, F f) {
  __shared__ int64_t bounds[2];
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kEntriesPerBlock;
  const int64_t end = begin + kEntriesPerBlock < entries ? begin + kEntriesPerBlock : entries;
  if (threadIdx.x < 2)
    bounds[threadIdx.x] = upper_bound(offsets, rows + 1, threadIdx.x == 0 ? begin : end - 1) - 1;
  __syncthreads();
  const int64_t first = bounds[0], last = bounds[1];
  for (int64_t e = begin + threadIdx.x; e < end; e += kEntryThreads)
    f(first + upper_bound(offsets + first, last - first + 1, e) - 1, e);
}

/// Calls f(row, entry) for every entry of the structure, one thread per entry for any degree distribution: a
/// block takes consecutive entries, finds the rows of its first and last one, and each thread searches only
/// between those.
template <class F>
void for_each_entry(const char* name, const Csr& a, F f) {
  launch(name,
         {.device = a.device().index,
          .blocks = static_cast<unsigned>(ceil_div(a.entries(), kEntriesPerBlock)),
          .threads = kEntryThreads},
         entries_kernel<F>, a.offsets.data<int64_t>(), a.rows, a.entries(), f);
}

}  // namespace adj::kernels::cuda
