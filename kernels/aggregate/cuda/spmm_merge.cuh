#pragma once

// Sums of the partial results of split rows in the workspace: one warp per row and slab of 32 * kVector
// features, in order; a row with very many parts is summed by a block, each warp taking a run of parts in
// order, then the runs in order. If even that takes too long (HeavyRow), merge_runs_kernel first reduces the
// row's parts by many blocks in parallel. The method depends only on the row's length.
//
// A warp keeps several reads in flight, since the merge is limited by memory latency. If fewer parts are left
// it reads the last one again, which costs nothing and keeps the reads together.
//
// Bytes: slots x width, and a 64th of it twice if there are runs.

#include <adjoint/kernels/aggregate/cuda/spmm_device.cuh>

namespace adj::kernels::cuda {

constexpr int kMergeWarps = 8;
/// Partial sums from which all warps of a block work on one row.
constexpr int kManySlots = 48;
/// Parts of a row in flight per warp.
constexpr int kSlotsAtOnce = 8;
/// Blocks per multiprocessor. Without this low bound the compiler saves registers for more blocks and halves
/// the reads in flight.
template <class A>
constexpr int kMergeBlocks = sizeof(A) == 8 ? 2 : 3;
static_assert(kRunSlots % kMergeWarps == 0);

/// Start of the share of `warp`, of `count` parts split over a block's warps.
__device__ __forceinline__ int share_begin(int count, int warp) {
  return static_cast<int>(static_cast<int64_t>(count) * warp / kMergeWarps);
}

/// Parts of a row to merge, [begin, begin + count): slots, or runs if it has any.
struct RowParts {
  int begin;
  int count;
  bool runs;

  __device__ __forceinline__ RowParts(const HeavyRow& row, const HeavyRow& next) : runs(next.run > row.run) {
    begin = runs ? row.run : row.slot;
    count = (runs ? next.run : next.slot) - begin;
  }
};

/// Σ of parts [begin, end) of `parts` [.., width] from `feature` on, in order.
template <int kVector, class A>
__device__ __forceinline__ Pack<A, kVector> add_parts(const A* parts, int width, int feature, int begin,
                                                      int end) {
  Pack<A, kVector> sum{};
  for (int s = begin; s < end; s += kSlotsAtOnce) {
    Pack<A, kVector> part[kSlotsAtOnce];
#pragma unroll
    for (int u = 0; u < kSlotsAtOnce; ++u)
      part[u] = load<kVector>(parts + static_cast<int64_t>(min(s + u, end - 1)) * width + feature);
#pragma unroll
    for (int u = 0; u < kSlotsAtOnce; ++u)
#pragma unroll
      for (int v = 0; v < kVector; ++v) sum[v] += s + u < end ? part[u][v] : A(0);
  }
  return sum;
}

/// Σ of `count` parts from `begin` on by a block; the result is in its first warp. All threads call it.
template <int kVector, class A>
__device__ __forceinline__ Pack<A, kVector> add_parts_by_block(const A* parts, int width, int feature,
                                                               int begin, int count) {
  __shared__ Pack<A, kVector> shares[kMergeWarps][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Pack<A, kVector> sum{};
  if (feature < width)
    sum = add_parts<kVector>(parts, width, feature, begin + share_begin(count, warp),
                             begin + share_begin(count, warp + 1));
  __syncthreads();  // earlier readers are done
  shares[warp][lane] = sum;
  __syncthreads();
  if (warp != 0) return sum;
#pragma unroll
  for (int w = 1; w < kMergeWarps; ++w)
#pragma unroll
    for (int v = 0; v < kVector; ++v) sum[v] += shares[w][lane][v];
  return sum;
}

/// runs [runs, width] = Σ of the slots of each, one block per run and 32 * kVector features.
template <class A, int kVector>
__global__ void __launch_bounds__(32 * kMergeWarps, kMergeBlocks<A>)
    merge_runs_kernel(const SlotRun* list, const int64_t* count, const A* partial, int width, A* runs) {
  begin_overlapping();
  if (blockIdx.x >= *count) return;
  const SlotRun run = list[blockIdx.x];
  const int feature = static_cast<int>(blockIdx.y * 32 + threadIdx.x % 32) * kVector;
  const Pack<A, kVector> sum =
      add_parts_by_block<kVector>(partial, width, feature, run.begin, run.end - run.begin);
  if (threadIdx.x < 32 && feature < width)
    store(runs + static_cast<int64_t>(blockIdx.x) * width + feature, sum);
}

/// Y of the rows that the plan split, from their partial sums and from `runs` (merge_runs_kernel): one block
/// per kMergeWarps rows and slab of 32 * kVector features. `count` points to the number of rows. The width is
/// a multiple of kVector and rows of Y are aligned to it.
template <class S, int kVector>
__device__ __forceinline__ void merge_rows(const HeavyRow* heavy, const int64_t* count,
                                           const SpmmArguments<S>& a, const Sum<S>* runs, int slab) {
  using A = Sum<S>;
  const int rows = static_cast<int>(*count), first = static_cast<int>(blockIdx.x) * kMergeWarps;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int feature = (slab * 32 + lane) * kVector;
  const bool valid = feature < a.width;

  auto write = [&](int row, const Pack<A, kVector>& sum) {
    if (!valid) return;
    Pack<S, kVector> pack;
#pragma unroll
    for (int v = 0; v < kVector; ++v) pack[v] = narrow<S>(finish(a, row, sum[v], feature + v));
    store(a.y + static_cast<int64_t>(row) * (a.width + a.y_gap / static_cast<uint32_t>(sizeof(S))) + feature,
          pack);
  };

  if (first + warp < rows) {
    const HeavyRow row = heavy[first + warp];
    const RowParts parts(row, heavy[first + warp + 1]);
    if (valid && parts.count < kManySlots)
      write(row.row, add_parts<kVector>(parts.runs ? runs : a.partial, a.width, feature, parts.begin,
                                        parts.begin + parts.count));
  }
  for (int r = first; r < first + kMergeWarps && r < rows; ++r) {
    const HeavyRow row = heavy[r];
    const RowParts parts(row, heavy[r + 1]);
    if (parts.count < kManySlots) continue;
    const Pack<A, kVector> sum = add_parts_by_block<kVector>(parts.runs ? runs : a.partial, a.width, feature,
                                                             parts.begin, parts.count);
    if (warp == 0) write(row.row, sum);
  }
}

/// All slabs of one matrix.
template <class S, int kVector>
__global__ void __launch_bounds__(32 * kMergeWarps, kMergeBlocks<Sum<S>>)
    merge_kernel(const HeavyRow* heavy, const int64_t* count, const __grid_constant__ SpmmArguments<S> a,
                 const Sum<S>* runs) {
  begin_overlapping();
  merge_rows<S, kVector>(heavy, count, a, runs, static_cast<int>(blockIdx.y));
}

/// The slabs of several matrices in one launch: first `row`'s, then `value`'s, then `term`'s.
template <class S>
struct MergedMatrices {
  SpmmArguments<S> row, value;
  SpmmArguments<Sum<S>> term;
  const Sum<S>*row_runs, *value_runs, *term_runs;
  int row_slabs, value_slabs;
};
template <class S, int kVector>
__global__ void __launch_bounds__(32 * kMergeWarps, kMergeBlocks<Sum<S>>)
    merge_matrices_kernel(const HeavyRow* heavy, const int64_t* count,
                          const __grid_constant__ MergedMatrices<S> a) {
  begin_overlapping();
  const int slab = static_cast<int>(blockIdx.y), of_value = slab - a.row_slabs;
  if (of_value < 0)
    merge_rows<S, kVector>(heavy, count, a.row, a.row_runs, slab);
  else if (of_value < a.value_slabs)
    merge_rows<S, kVector>(heavy, count, a.value, a.value_runs, of_value);
  else
    merge_rows<Sum<S>, 1>(heavy, count, a.term, a.term_runs, of_value - a.value_slabs);
}

}  // namespace adj::kernels::cuda
