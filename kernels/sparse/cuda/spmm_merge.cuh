#pragma once

#include <adjoint/kernels/sparse/cuda/spmm_device.cuh>

namespace adj::kernels::cuda {

constexpr int kMergeWarps = 8;
/// Partial sums from which all warps of a block work on one row.
constexpr int kManySlots = 48;

/// Y of the rows that the plan cut, from their partial sums: one warp per row and slab of 32 * kVector
/// features, in order; a row of very many parts is summed by the block, each warp taking a run of parts in
/// order, then the runs in order. Which of the two depends on the row's length alone. `count` tells how many
/// rows there are. The width is a multiple of kVector and rows of Y are aligned to it.
template <class S, int kVector>
__global__ void __launch_bounds__(32 * kMergeWarps)
    merge_kernel(const HeavyRow* heavy, const int64_t* count, const __grid_constant__ SpmmArguments<S> a) {
  using A = Sum<S>;
  adj::cuda::begin_overlapping();
  __shared__ Pack<A, kVector> runs[kMergeWarps][32];
  const int rows = static_cast<int>(*count), first = static_cast<int>(blockIdx.x) * kMergeWarps;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int feature = (static_cast<int>(blockIdx.y) * 32 + lane) * kVector;
  const bool valid = feature < a.width;

  auto add_slots = [&](int begin, int end) {
    Pack<A, kVector> sum{};
    if (!valid) return sum;
    const A* from = a.partial + static_cast<int64_t>(begin) * a.width + feature;
#pragma unroll 8
    for (int s = begin; s < end; ++s, from += a.width) {
      const Pack<A, kVector> part = adj::cuda::load<kVector>(from);
#pragma unroll
      for (int v = 0; v < kVector; ++v) sum[v] += part[v];
    }
    return sum;
  };
  auto write = [&](int row, const Pack<A, kVector>& sum) {
    if (!valid) return;
    Pack<S, kVector> pack;
#pragma unroll
    for (int v = 0; v < kVector; ++v) pack[v] = narrow<S>(finish(a, sum[v], feature + v));
    adj::cuda::store(a.y + static_cast<int64_t>(row) * a.width + feature, pack);
  };

  if (first + warp < rows) {
    const HeavyRow row = heavy[first + warp];
    const int end = heavy[first + warp + 1].slot;
    if (end - row.slot < kManySlots) write(row.row, add_slots(row.slot, end));
  }
  for (int r = first; r < first + kMergeWarps && r < rows; ++r) {
    const HeavyRow row = heavy[r];
    const int slots = heavy[r + 1].slot - row.slot;
    if (slots < kManySlots) continue;
    const auto bound = [&](int run) {
      return row.slot + static_cast<int>(static_cast<int64_t>(slots) * run / kMergeWarps);
    };
    Pack<A, kVector> sum = add_slots(bound(warp), bound(warp + 1));
    runs[warp][lane] = sum;
    __syncthreads();
    if (warp == 0) {
#pragma unroll
      for (int run = 1; run < kMergeWarps; ++run)
#pragma unroll
        for (int v = 0; v < kVector; ++v) sum[v] += runs[run][lane][v];
      write(row.row, sum);
    }
    __syncthreads();
  }
}

}  // namespace adj::kernels::cuda
