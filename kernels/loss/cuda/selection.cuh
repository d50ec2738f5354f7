#pragma once

#include <adjoint/core/cuda/fault.h>
#include <adjoint/kernels/cuda/rows.cuh>
#include <adjoint/kernels/loss/loss.h>

namespace adj::kernels::cuda {

/// The rows that a loss is taken over.
struct Selection {
  const int32_t* index;  // null: all rows
  int64_t count;         // that are selected, those that stand there twice counted twice
  int64_t rows;          // that there are
  Fault outside;         // for rows that there are not

  /// -1 where there is no such row, which is then told.
  __device__ int64_t row(int64_t k) const {
    if (index == nullptr) return k;
    const int32_t i = index[k];
    if (i >= 0 && i < rows) return i;
    raise(outside, k, i, rows);
    return -1;
  }
};

inline Selection selection_of(const char* op, const Tensor& x, const Tensor& index) {
  const Fault outside = fault_of(x.device().index, op, "index");
  if (!index) return {nullptr, x.size(0), x.size(0), outside};
  return {index.data<int32_t>(), index.numel(), x.size(0), outside};
}

__device__ __forceinline__ void count_selected(const Selection& selection, int64_t first, int64_t step,
                                               int32_t* times) {
  for (int64_t k = first; k < selection.count; k += step)
    if (const int64_t row = selection.row(k); row >= 0) atomicAdd(times + row, 1);
}

// One block does both where that is faster than two launches.
static __global__ void __launch_bounds__(1024) clear_and_count_kernel(Selection selection, int32_t* times) {
  begin_overlapping();
  for (int64_t i = threadIdx.x; i < selection.rows; i += blockDim.x) times[i] = 0;
  __syncthreads();
  count_selected(selection, threadIdx.x, blockDim.x, times);
}

static __global__ void __launch_bounds__(kBlockThreads) count_kernel(Selection selection, int32_t* times) {
  count_selected(selection, blockIdx.x * int64_t{blockDim.x} + threadIdx.x, int64_t{gridDim.x} * blockDim.x,
                 times);
}

/// How often each row is selected, int32 [rows]; absent where all are, once. Counted in integers, which
/// atomic additions leave the same in any order. A backward pass then goes through all rows, and writes the
/// gradient once: zeros where a row is not selected.
inline Tensor times_selected(const char* name, const Selection& selection, Device device) {
  if (selection.index == nullptr) return {};
  constexpr int64_t kOneBlock = 32768;
  Tensor times = Tensor::empty({selection.rows}, DType::i32, device);
  if (selection.rows <= kOneBlock && selection.count <= kOneBlock) {
    launch(name, {.device = device.index, .blocks = 1, .threads = 1024, .overlaps = true},
           clear_and_count_kernel, selection, times.mutable_data<int32_t>());
    return times;
  }
  times.zero_();
  launch(name, {.device = device.index, .blocks = blocks_for(selection.count)}, count_kernel, selection,
         times.mutable_data<int32_t>());
  return times;
}

inline const int32_t* counts_of(const Tensor& times) { return times ? times.data<int32_t>() : nullptr; }

/// Zeros in the row of a gradient; `lane` of kLanes.
template <int N, int kLanes, class S>
__device__ __forceinline__ void clear_row(S* to, int64_t width, int lane) {
  Pack<Wide<S>, N> zeros;
#pragma unroll
  for (int j = 0; j < N; ++j) zeros[j] = Wide<S>{0};
  for (int64_t column = int64_t{lane} * N; column < width; column += kLanes * N)
    store_narrow<N>(to + column, zeros);
}

}  // namespace adj::kernels::cuda
