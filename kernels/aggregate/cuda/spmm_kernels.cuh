#pragma once

// The kernel of the SpMM family. A group of lanes takes one item of the plan (spmm_plan.h) and walks its
// entries in order, a few rows of X in flight at a time across rows of the matrix; each lane owns the same
// features throughout, so that every (row, feature) is one sequential sum: the same bits for every shape of
// the group. Columns and weights are staged in shared memory 16 or 32 entries at a time, with the next stage
// in flight. A finished row is written at once, a split one to the workspace, which merge_kernel sums in
// order.
//
// With kDot the same pass also computes ⟨own row, gathered row⟩ per entry: the gradient of the edge weights.
//
// Bytes: entries x width of X (from L1 and L2 if neighbouring rows share columns), per entry 4 for the column
// and 4 for the weight, rows x width of Y. Nothing is saved.
//
// Bound: X is read from DRAM at worst, from L2 if X fits there, from L1 if the warps of a block walk the same
// columns at about the same time, which larger blocks achieve on long rows. If X does not fit in L2 but
// slabs of 128 bytes per row do, one pass per slab reads X from DRAM once, at the cost of reading columns and
// weights once per slab. Only rows of more than two items are split, so no degree distribution leaves warps
// idle. cuSPARSE is not used: on a skewed graph none of its CSR algorithms gave the same bits in
// twelve runs at widths 16 and 128 (H200, CUDA 13.0).

#include <adjoint/kernels/aggregate/cuda/item_walk.cuh>

namespace adj::kernels::cuda {

/// Launch bounds: limit the registers of a thread. Blocks have 128 or 256 threads (item_threads). On an H200
/// kernels with both gradients take 0.83 to 1.06 of their time with 512, sums without gradients gain nothing.
template <class S, int kVector, int kLanes, int kChunks, int kUnroll, bool kDot>
constexpr int kMostThreads = kDot                                                                ? 256
                             : kVector* kChunks* kUnroll <= 16 && kLanes >= 16 && sizeof(S) <= 4 ? 1024
                                                                                                 : 512;

/// Lane l of a group owns features first + (c * kLanes + l) * kVector + [0, kVector) for c < kChunks;
/// blockIdx.y counts slabs of that many features. The width is a multiple of kVector (of the slab if kWhole),
/// and rows are aligned to it.
template <class S, int kVector, int kLanes, int kChunks, int kUnroll, bool kWhole, bool kSum, bool kDot,
          bool kLocal = false>
__global__ void __launch_bounds__(kMostThreads<S, kVector, kLanes, kChunks, kUnroll, kDot>)
    spmm_kernel(const __grid_constant__ SpmmArguments<S> a) {
  using A = Sum<S>;
  begin_overlapping();
  constexpr int kStaged = kStage<kLanes>, kPerLane = kStaged / kLanes;
  extern __shared__ uint4 shared[];
  const int groups = blockDim.x / kLanes, lane = threadIdx.x % kLanes;
  const unsigned mask = group_mask<kLanes>();
  const int group = keep(mask, static_cast<int>(threadIdx.x / kLanes));
  A* const weights = reinterpret_cast<A*>(shared) + group * kStaged;
  int32_t* const columns =
      reinterpret_cast<int32_t*>(reinterpret_cast<A*>(shared) + groups * kStaged) + group * kStaged;
  int32_t* const targets = columns + groups * kStaged;  // kDot only

  const int number = blockIdx.x * groups + group;
  if (number >= a.items) return;
  const Item item(a.starts, number);
  const int end_entry = item.end_entry;

  // A lane beyond the width reads the same as the first lane, so that nothing in the loop depends on it, and
  // writes nothing. Reads are predicated only if chunks may be partial.
  constexpr int kChunkBytes = kLanes * kVector * static_cast<int>(sizeof(S));
  const int feature = a.first_feature + (static_cast<int>(blockIdx.y) * kChunks * kLanes + lane) * kVector;
  bool valid[kChunks];
#pragma unroll
  for (int c = 0; c < kChunks; ++c) valid[c] = kWhole || feature + c * kLanes * kVector < a.width;
  const int read_feature = valid[0] ? feature : a.first_feature;
  const uint32_t pitch = a.pitch;
  const char* const local =
      kLocal ? keep_address(mask, a.local + read_feature * static_cast<int>(sizeof(S))) : nullptr;
  auto load_chunks = [&](const char* matrix, int r, Pack<S, kVector>(&chunks)[kChunks]) {
    const char* source = row_address(matrix, r, pitch);
    if constexpr (kLocal)
      if (const int row = r - a.local_row; static_cast<unsigned>(row) < static_cast<unsigned>(a.local_rows))
        source = row_address(local, row, a.local_pitch);
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
      chunks[c] = kWhole || kChunks == 1 || valid[c] ? gather_pack<S, kVector>(source + c * kChunkBytes)
                                                     : Pack<S, kVector>{};
  };
  const char* const x = keep_address(mask, a.x + read_feature);
  const char* const own_rows = kDot ? keep_address(mask, a.row_features + read_feature) : nullptr;

  ItemWalk<> walk{item};
  walk.begin(a);
  A sum[kChunks][kVector];
  Pack<S, kVector> row_features[kChunks], next_row_features[kChunks];
  auto clear_sum = [&] {
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int v = 0; v < kVector; ++v) sum[c][v] = A(0);
  };
  clear_sum();
  if constexpr (kDot) {
    if (walk.active()) load_chunks(own_rows, walk.row, row_features);
    if (walk.row + 1 < item.end_row) load_chunks(own_rows, walk.row + 1, next_row_features);
  }

  auto write_row = [&] {
    if (item.part) {
      A* const output =
          a.partial + static_cast<uint64_t>(static_cast<uint32_t>(item.slot)) * a.width + feature;
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        Pack<A, kVector> pack;
#pragma unroll
        for (int v = 0; v < kVector; ++v) pack[v] = sum[c][v];
        if (valid[c]) store(output + c * kLanes * kVector, pack);
      }
    } else {
      const char* const output =
          row_address(reinterpret_cast<const char*>(a.y + feature), walk.row, pitch + a.y_gap);
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        if (!valid[c]) continue;
        if (a.epilogue) {
#pragma unroll
          for (int v = 0; v < kVector; ++v)
            sum[c][v] = finish(a, walk.row, sum[c][v], feature + c * kLanes * kVector + v);
        }
        Pack<S, kVector> pack;
#pragma unroll
        for (int v = 0; v < kVector; ++v) pack[v] = narrow<S>(sum[c][v]);
        stream_pack(output + c * kChunkBytes, pack);
      }
    }
    clear_sum();
  };
  auto end_row = [&] {
    if constexpr (kSum) write_row();
    walk.next_row(a);
    if constexpr (kDot) {
#pragma unroll
      for (int c = 0; c < kChunks; ++c) row_features[c] = next_row_features[c];
      if (walk.row + 1 < item.end_row) load_chunks(own_rows, walk.row + 1, next_row_features);
    }
  };
  walk.end_first_rows(end_row);

  int32_t column[kPerLane], place[kPerLane], next_place[kPerLane];
  A weight[kPerLane];
  auto load_places = [&](int base, int32_t(&places)[kPerLane]) {
    if (a.order == nullptr) return;
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      const int e = base + j * kLanes + lane;
      places[j] = e < end_entry ? __ldg(a.order + e) : 0;
    }
  };
  auto load_stage = [&](int base, const int32_t(&places)[kPerLane]) {
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      const int e = base + j * kLanes + lane;
      column[j] = e < end_entry ? __ldg(a.indices + e) : 0;
      if constexpr (kSum)
        weight[j] = e < end_entry && a.values != nullptr
                        ? __ldg(a.values + (a.order == nullptr ? e : places[j]))
                        : A(1);
    }
  };
  load_places(item.entry, place);
  load_stage(item.entry, place);
  load_places(item.entry + kStaged, next_place);

#pragma unroll 1
  for (int base = item.entry; base < end_entry; base += kStaged) {
    __syncwarp(mask);
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      columns[j * kLanes + lane] = column[j];
      if constexpr (kSum) weights[j * kLanes + lane] = weight[j];
      if constexpr (kDot) targets[j * kLanes + lane] = place[j];
      place[j] = next_place[j];
    }
    __syncwarp(mask);
    load_stage(base + kStaged, place);
    load_places(base + 2 * kStaged, next_place);

    const int staged = min(kStaged, end_entry - base);
#pragma unroll 1
    for (int p = 0; p < staged; p += kUnroll) {
      const int left = min(kUnroll, staged - p);
      const auto neighbors = load<kUnroll>(columns + p);
      Pack<S, kVector> gathered[kUnroll][kChunks];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        load_chunks(x, neighbors[u], gathered[u]);  // beyond the item: row 0, not added
      Pack<A, kUnroll> w;
      if constexpr (kSum) w = load<kUnroll>(weights + p);
      A dot[kUnroll];
      if constexpr (kDot) {
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) dot[u] = A(0);
      }
      auto add = [&](int u) {
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
#pragma unroll
          for (int v = 0; v < kVector; ++v) {
            const A value = widen(gathered[u][c][v]);
            if constexpr (kSum) sum[c][v] = fma(w[u], value, sum[c][v]);
            if constexpr (kDot) dot[u] = fma(widen(row_features[c][v]), value, dot[u]);
          }
        }
      };
      walk.take<kUnroll>(base + p, left, add, end_row);
      if constexpr (kDot) {
        constexpr int kShare = kLanes / kUnroll;
        if (!valid[0]) {
#pragma unroll
          for (int u = 0; u < kUnroll; ++u) dot[u] = A(0);
        }
        const A value = reduce_scatter<kUnroll, kLanes>(dot, lane, mask);
        const int k = lane / kShare;
        if (lane % kShare == 0 && k < left) {
          A* const output = a.dw + (a.order == nullptr ? base + p + k : targets[p + k]);
          *output = a.add_to_dw ? *output + value : value;
        }
      }
    }
  }
}

}  // namespace adj::kernels::cuda
