#pragma once

#include <adjoint/core/cuda/fault.h>
#include <adjoint/kernels/cuda/rows.cuh>
#include <adjoint/kernels/loss/loss.h>

namespace adj::kernels::cuda {

/// The rows of a loss.
struct Selection {
  const int32_t* index;  // null: all rows
  int64_t count;         // of selected rows, duplicates included
  int64_t rows;          // total number of rows
  Fault outside;         // reports rows out of range

  /// -1 for a row out of range, which is reported.
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

static __global__ void __launch_bounds__(1024) clear_and_count_kernel(Selection selection, int32_t* times) {
  begin_overlapping();
  for (int64_t i = threadIdx.x; i < selection.rows; i += blockDim.x) times[i] = 0;
  __syncthreads();
  count_selected(selection, threadIdx.x, blockDim.x, times);
}

static __global__ void __launch_bounds__(kBlockThreads) count_kernel(Selection selection, int32_t* times) {
  begin_overlapping();
  count_selected(selection, blockIdx.x * int64_t{blockDim.x} + threadIdx.x, int64_t{gridDim.x} * blockDim.x,
                 times);
}

/// How often each row is selected, int32 [rows]; absent if all rows are, once. A backward pass then visits
/// all rows, each once: it may write the gradient over the logits. Integer counts are deterministic under
/// atomics.
inline Tensor times_selected(const char* name, const Selection& selection, Device device) {
  if (selection.index == nullptr) return {};
  constexpr int64_t kOneBlock = 32768;
  Tensor times = Tensor::empty({selection.rows}, DType::i32, device);
  if (selection.rows <= kOneBlock && selection.count <= kOneBlock) {
    launch(name, overlapping(device.index, 1, 1024), clear_and_count_kernel, selection,
           times.mutable_data<int32_t>());
  } else {
    times.zero_();
    launch(name, over(device.index, selection.count), count_kernel, selection, times.mutable_data<int32_t>());
  }
  return times;
}

/// finish(Σ of the terms of selected rows): a group of lanes reads a row of x [rows, width], then its first
/// lane calls term(x, width, row, maximum, Σ exp(x - maximum), sum), which adds to `sum`; row -1: out of
/// range.
template <int N, int kLanes, int kHeld, class S, class Term, class Finish>
__global__ void __launch_bounds__(kBlockThreads)
    row_terms_kernel(Selection selection, const S* x, int64_t width, Term term, Finish finish,
                     double* partial, unsigned* counter) {
  begin_overlapping();
  constexpr int kGroups = kBlockThreads / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, group = static_cast<int>(threadIdx.x) / kLanes;
  const int64_t step = int64_t{gridDim.x} * kGroups;
  double sum = 0.0;
  for (int64_t first = int64_t{blockIdx.x} * kGroups; first < selection.count; first += step) {
    const bool any = first + group < selection.count;
    const int64_t row = any ? selection.row(first + group) : -1;
    const RowView<S, N, kLanes, kHeld> view(x, width, row, lane);
    Accumulator<S> largest, total;
    soft_maximum(view, largest, total);
    if (any && lane == 0) term(x, width, row, largest, total, sum);
  }
  finish_grid_sum(sum, finish, partial, counter);
}
template <class S, class Term, class Finish>
void sum_row_terms(const char* name, const Selection& selection, const Tensor& x, const Term& term,
                   const Finish& finish) {
  const int device = x.device().index;
  const S* in = x.data<S>();
  dispatch_row<S>(x.size(1), aligned_to_16(in), [&]<int N, int kLanes, int kHeld>() {
    const unsigned blocks = blocks_for_sum(device, selection.count, kBlockThreads / kLanes);
    Tensor partial = partials(device, blocks);
    launch(name, overlapping(device, blocks), row_terms_kernel<N, kLanes, kHeld, S, Term, Finish>, selection,
           in, x.size(1), term, finish, partial.mutable_data<double>(), arrival_counters(device));
  });
}

inline const int32_t* counts_of(const Tensor& times) { return data_or_null<int32_t>(times); }

/// Number of times `row` is selected.
__device__ __forceinline__ int32_t often(const int32_t* times, int64_t row) {
  return times == nullptr ? 1 : times[row];
}

}  // namespace adj::kernels::cuda
