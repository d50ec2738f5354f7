#pragma once

// The kernel of reductions over neighbours. A group of lanes walks an item of the plan (walk_item); each lane
// owns the same features throughout and keeps the row's state in registers: maximum and minimum with their
// columns, and sums. A finished row is written at once with streaming stores; the parts of a split row go to
// the workspace, which merge_neighbors_kernel merges in order (for very long rows in runs first, as in
// spmm_merge.cuh), so the bits depend only on the structure.
//
// A maximum costs three instructions per element: the comparison, the maximum, and the selection of the
// column. max.NaN keeps a NaN without a second comparison; the columns after it are then wrong, so if a row's
// result is NaN (or nothing exceeded the initial value) the end of the row scans the row again to find the
// column.
//
// With weighted terms the winner is the index of the weight, which every lane reads itself.
//
// Bytes: entries x width of X (from L1 and L2 if neighbouring rows share columns), 4 per column, 4 per weight
// and 4 for its index, and rows x width of every result and winner. Nothing but the winners is saved.

#include <adjoint/kernels/aggregate/cuda/item_walk.cuh>
#include <adjoint/kernels/aggregate/cuda/spmm_merge.cuh>
#include <adjoint/kernels/aggregate/neighbor_reduce.h>

#include <math_constants.h>

namespace adj::kernels::cuda {

/// Partial results of a part of a split row, one value each per feature.
enum Part : int { kLargestPart, kSmallestPart, kSumPart, kOffPart, kSquarePart, kParts };

template <class S>
struct NeighborArguments {
  const ItemStart* starts;
  int items;
  const int64_t* offsets;
  const int32_t* indices;
  const S* x;
  const Sum<S>* weight;  ///< read by kernels of weighted terms
  const int32_t* order;  ///< index of the weights; null: in entry order
  int width;
  uint32_t pitch;  ///< bytes per row of x
  S* y;            ///< [rows, count width]
  int count;
  int place[kReductions];   ///< of a reduction in a row of y; -1: not computed
  int32_t* winner[2];       ///< of the maximum, the minimum; null: not computed
  Sum<S>* mean;             ///< null: not computed
  Sum<S>* part[kParts];     ///< [slots, width]
  int32_t* part_winner[2];  ///< likewise

  __device__ __forceinline__ bool wants(Reduce reduce) const { return place[static_cast<int>(reduce)] >= 0; }
  __device__ __forceinline__ int32_t place_of(int entry) const {
    return order == nullptr ? entry : __ldg(order + entry);
  }
  /// Address of a row's features from `feature` on.
  __device__ __forceinline__ S* at(Reduce reduce, int row, int feature) const {
    return y + (static_cast<int64_t>(row) * count + place[static_cast<int>(reduce)]) * width + feature;
  }
};

/// Whether the value replaces the best. True if either is NaN.
template <bool kLargest, class A>
__device__ __forceinline__ bool passes(A value, A best) {
  return kLargest ? !(value <= best) : !(value >= best);
}
/// The larger (smaller) of both, NaN if either is.
template <bool kLargest>
__device__ __forceinline__ float better_of(float best, float value) {
  float better;
  if constexpr (kLargest) {
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(better) : "f"(best), "f"(value));
  } else {
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(better) : "f"(best), "f"(value));
  }
  return better;
}
template <bool kLargest>
__device__ __forceinline__ double better_of(double best, double value) {
  return best == best && passes<kLargest>(value, best) ? value : best;
}

template <class A>
struct RowMoments {
  A sum = 0, mean = 0, variance = 0, deviation = 0;

  /// `off` and `square` are relative to a term of the row.
  __device__ __forceinline__ RowMoments(int count, A total, A off, A square) {
    if (count == 0) return;
    const A n = static_cast<A>(count), difference = off / n;
    sum = total;
    mean = total / n;
    variance =
        fma(-difference, difference, square / n);  // same expression in every kernel, for the same bits
    if (variance < A(0)) variance = 0;             // NaN stays
    deviation = variance <= A(kSmallestVariance) ? A(0) : sqrt(variance);
  }
};

/// Streaming stores of at most 16 bytes.
template <class T, int N>
__device__ __forceinline__ void stream_values(T* output, const T (&values)[N]) {
  constexpr int kStep = sizeof(T) * N <= 16 ? N : 16 / static_cast<int>(sizeof(T));
#pragma unroll
  for (int k = 0; k < N; k += kStep) {
    Pack<T, kStep> pack;
#pragma unroll
    for (int v = 0; v < kStep; ++v) pack[v] = values[k + v];
    stream_pack(reinterpret_cast<const char*>(output + k), pack);
  }
}

template <class S, int N>
__device__ __forceinline__ void stream_narrow(S* output, const Sum<S> (&values)[N]) {
  S narrowed[N];
#pragma unroll
  for (int v = 0; v < N; ++v) narrowed[v] = narrow<S>(values[v]);
  stream_values(output, narrowed);
}

/// Running maximum (minimum) of a lane in a row, of kVector features.
template <class S, int kVector, bool kLargest>
struct MinmaxState {
  using A = Sum<S>;
  static constexpr Part kPart = kLargest ? kLargestPart : kSmallestPart;
  static constexpr Reduce kReduce = kLargest ? Reduce::max : Reduce::min;
  A best[kVector];
  int32_t column[kVector];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      best[v] = kLargest ? -static_cast<A>(CUDART_INF_F) : static_cast<A>(CUDART_INF_F);
      column[v] = -1;
    }
  }
  __device__ __forceinline__ void add(int v, A value, int32_t neighbor) {
    if (passes<kLargest>(value, best[v])) column[v] = neighbor;
    best[v] = better_of<kLargest>(best[v], value);
  }
  /// After the row's entries [begin, end): the winner where add() could not tell.
  template <bool kWeighted>
  __device__ __forceinline__ void settle(const NeighborArguments<S>& a, int feature, int begin, int end) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      if (begin == end) {
        best[v] = A(0);
      } else if (best[v] != best[v]) {
        int e = begin;
        while (e + 1 < end) {
          A value = widen(a.x[static_cast<int64_t>(a.indices[e]) * a.width + feature + v]);
          if constexpr (kWeighted) value *= a.weight[a.place_of(e)];
          if (value != value) break;
          ++e;
        }
        column[v] = kWeighted ? a.place_of(e) : a.indices[e];
      } else if (column[v] < 0) {
        column[v] = kWeighted ? a.place_of(begin) : a.indices[begin];  // nothing exceeds an infinity
      }
    }
  }
  __device__ __forceinline__ void leave(const NeighborArguments<S>& a, int feature, int slot) const {
    const int64_t offset = static_cast<int64_t>(slot) * a.width + feature;
    stream_values(a.part[kPart] + offset, best);
    stream_values(a.part_winner[kLargest ? 0 : 1] + offset, column);
  }
  __device__ __forceinline__ void write(const NeighborArguments<S>& a, int feature, int row) const {
    if (a.wants(kReduce)) stream_narrow(a.at(kReduce, row, feature), best);
    if (int32_t* const winner = a.winner[kLargest ? 0 : 1]; winner != nullptr)
      stream_values(winner + static_cast<int64_t>(row) * a.width + feature, column);
  }
};

template <class S, int N>
__device__ __forceinline__ void write_moments(const NeighborArguments<S>& a, int row, int feature, int count,
                                              const Sum<S> (&total)[N], const Sum<S> (&off)[N],
                                              const Sum<S> (&square)[N]) {
  using A = Sum<S>;
  A sum[N], mean[N], variance[N], deviation[N];
#pragma unroll
  for (int v = 0; v < N; ++v) {
    const RowMoments<A> moments(count, total[v], off[v], square[v]);
    sum[v] = moments.sum;
    mean[v] = moments.mean;
    variance[v] = moments.variance;
    deviation[v] = moments.deviation;
  }
  if (a.wants(Reduce::sum)) stream_narrow(a.at(Reduce::sum, row, feature), sum);
  if (a.wants(Reduce::mean)) stream_narrow(a.at(Reduce::mean, row, feature), mean);
  if (a.wants(Reduce::var)) stream_narrow(a.at(Reduce::var, row, feature), variance);
  if (a.wants(Reduce::std)) stream_narrow(a.at(Reduce::std, row, feature), deviation);
  if (a.mean != nullptr) stream_values(a.mean + static_cast<int64_t>(row) * a.width + feature, mean);
}

/// Σ x, and the sums relative to a term of the row.
template <class S, int kVector>
struct MomentState {
  using A = Sum<S>;
  A shift[kVector], sum[kVector], off[kVector], square[kVector];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int v = 0; v < kVector; ++v) sum[v] = off[v] = square[v] = A(0);
  }
  /// 0 if the term is not finite and would turn an infinity into NaN.
  __device__ __forceinline__ void begin(const Pack<S, kVector>& term) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      const A value = widen(term[v]);
      shift[v] = value - value == A(0) ? value : A(0);
    }
  }
  __device__ __forceinline__ void add(int v, A value) {
    const A difference = value - shift[v];
    sum[v] += value;
    off[v] += difference;
    square[v] = fma(difference, difference, square[v]);
  }
  __device__ __forceinline__ void leave(const NeighborArguments<S>& a, int feature, int slot) const {
    const int64_t offset = static_cast<int64_t>(slot) * a.width + feature;
    stream_values(a.part[kSumPart] + offset, sum);
    stream_values(a.part[kOffPart] + offset, off);
    stream_values(a.part[kSquarePart] + offset, square);
  }
};

template <class S, int kVector, int kUnroll, bool kMax, bool kMin, bool kMoments, bool kWeighted>
struct NeighborBody {
  using A = Sum<S>;

  const NeighborArguments<S>& a;
  const Item& item;
  const int feature;    ///< this lane's first
  const bool valid;     ///< or beyond the width
  const char* const x;  ///< this lane's features of row 0
  const uint32_t pitch;
  Pack<S, kVector> gathered[kUnroll];
  MinmaxState<S, kVector, true> largest;
  MinmaxState<S, kVector, false> smallest;
  MomentState<S, kVector> moments;
  int32_t place[kWeighted ? kUnroll : 1];
  A weight[kWeighted ? kUnroll : 1];

  __device__ __forceinline__ void clear() {
    if constexpr (kMax) largest.clear();
    if constexpr (kMin) smallest.clear();
    if constexpr (kMoments) moments.clear();
  }
  __device__ __forceinline__ Pack<S, kVector> features_of(int32_t column) const {
    return gather_pack<S, kVector>(row_address(x, column, pitch));
  }
  __device__ __forceinline__ void begin() {
    clear();
    if constexpr (kMoments) {
      if (!item.first_part) moments.begin(features_of(a.indices[a.offsets[item.row]]));
    }
  }

  __device__ __forceinline__ void gather(const Pack<int32_t, kUnroll>& neighbors, int entry) {
    if constexpr (kWeighted) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) place[u] = a.place_of(min(entry + u, item.end_entry - 1));
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) gathered[u] = features_of(neighbors[u]);
    if constexpr (kWeighted) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) weight[u] = __ldg(a.weight + place[u]);
    }
  }
  __device__ __forceinline__ void add(int u, int32_t column, bool first) {
    if constexpr (kMoments) {
      if (first && item.first_part) moments.begin(gathered[u]);
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      A value = widen(gathered[u][v]);
      if constexpr (kWeighted) value *= weight[u];
      const int32_t who = kWeighted ? place[kWeighted ? u : 0] : column;
      if constexpr (kMax) largest.add(v, value, who);
      if constexpr (kMin) smallest.add(v, value, who);
      if constexpr (kMoments) moments.add(v, value);
    }
  }
  __device__ __forceinline__ void end_row(int row, int begin, int end) {
    if (valid) {
      if constexpr (kMax) largest.template settle<kWeighted>(a, feature, begin, end);
      if constexpr (kMin) smallest.template settle<kWeighted>(a, feature, begin, end);
      if (item.part) {
        if constexpr (kMax) largest.leave(a, feature, item.slot);
        if constexpr (kMin) smallest.leave(a, feature, item.slot);
        if constexpr (kMoments) moments.leave(a, feature, item.slot);
      } else {
        if constexpr (kMax) largest.write(a, feature, row);
        if constexpr (kMin) smallest.write(a, feature, row);
        if constexpr (kMoments)
          write_moments<S, kVector>(a, row, feature, end - begin, moments.sum, moments.off, moments.square);
      }
    }
    clear();
  }
};

/// Launch bounds: limit the registers of a thread. Blocks have 128 or 256 threads (item_threads). On an H200
/// the lower bound makes bfloat16 faster (to 0.89 of the time), but not with weights (to 1.12) nor float32
/// (to 1.12).
template <class S, bool kWeighted>
constexpr int kNeighborThreads = std::is_same_v<S, bfloat16> && !kWeighted ? 256 : 512;

/// Lane l of a group owns features (blockIdx.y kLanes + l) kVector + [0, kVector). The width is a multiple of
/// kVector; rows are aligned to a vector.
template <class S, int kVector, int kLanes, int kUnroll, bool kMax, bool kMin, bool kMoments, bool kWeighted>
__global__ void __launch_bounds__(kNeighborThreads<S, kWeighted>)
    neighbor_kernel(const __grid_constant__ NeighborArguments<S> a) {
  begin_overlapping();
  extern __shared__ uint4 shared[];
  const int groups = blockDim.x / kLanes, lane = threadIdx.x % kLanes;
  const unsigned mask = group_mask<kLanes>();
  const int group = keep(mask, static_cast<int>(threadIdx.x / kLanes));
  int32_t* const columns = reinterpret_cast<int32_t*>(shared) + group * kStage<kLanes>;
  const int number = blockIdx.x * groups + group;
  if (number >= a.items) return;
  const Item item(a.starts[number], a.starts[number + 1]);
  const int feature = (static_cast<int>(blockIdx.y) * kLanes + lane) * kVector;
  const bool valid = feature < a.width;
  // A lane beyond the width reads the same as the first lane and writes nothing.
  NeighborBody<S, kVector, kUnroll, kMax, kMin, kMoments, kWeighted> body{
      a, item, feature, valid, keep_address(mask, a.x + (valid ? feature : 0)), a.pitch};
  body.begin();
  walk_item<kLanes, kUnroll>(item, a, columns, body);
}

/// Values of all parts of split rows (NeighborArguments), or of their runs.
template <class A>
struct NeighborParts {
  A* value[kParts];    ///< [parts, width]
  int32_t* winner[2];  ///< likewise, of the maximum and the minimum
};

/// Merges parts of a row by a block, one lane per feature; the result is in its first warp.
template <class S, bool kMax, bool kMin, bool kMoments>
struct NeighborMerge {
  using A = Sum<S>;
  static constexpr int kSums = kMoments ? 3 : 0;
  /// Parts in flight per warp.
  static constexpr int kAtOnce = kMax + kMin + kSums > 2 ? 4 : 8;

  MinmaxState<S, 1, true> largest;
  MinmaxState<S, 1, false> smallest;
  A sums[3] = {A(0), A(0), A(0)};

  /// The winner of a part is known; -1 means an empty part.
  template <class State>
  static __device__ __forceinline__ void take(State& state, A value, int32_t winner) {
    A& best = state.best[0];
    int32_t& column = state.column[0];
    if (winner >= 0 && (column < 0 || (best == best && passes<State::kPart == kLargestPart>(value, best)))) {
      best = value;
      column = winner;
    }
  }

  /// Parts [begin, end) in order.
  __device__ __forceinline__ void add(const NeighborParts<A>& parts, int width, int feature, int begin,
                                      int end) {
    for (int first = begin; first < end; first += kAtOnce) {
      A value[kParts][kAtOnce];
      int32_t winner[2][kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int64_t offset = static_cast<int64_t>(min(first + u, end - 1)) * width + feature;
        if constexpr (kMax) {
          value[kLargestPart][u] = parts.value[kLargestPart][offset];
          winner[0][u] = parts.winner[0][offset];
        }
        if constexpr (kMin) {
          value[kSmallestPart][u] = parts.value[kSmallestPart][offset];
          winner[1][u] = parts.winner[1][offset];
        }
#pragma unroll
        for (int k = 0; k < kSums; ++k) value[kSumPart + k][u] = parts.value[kSumPart + k][offset];
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const bool is_part = first + u < end;
        if constexpr (kMax) take(largest, value[kLargestPart][u], is_part ? winner[0][u] : -1);
        if constexpr (kMin) take(smallest, value[kSmallestPart][u], is_part ? winner[1][u] : -1);
#pragma unroll
        for (int k = 0; k < kSums; ++k) sums[k] += is_part ? value[kSumPart + k][u] : A(0);
      }
    }
  }

  /// `count` parts from `begin` on: each warp takes a share in order, then the first warp merges the shares
  /// in order. All threads of the block call it once.
  __device__ __forceinline__ void by_block(const NeighborParts<A>& parts, int width, int feature, int begin,
                                           int count) {
    __shared__ A values[kParts][kMergeWarps][32];
    __shared__ int32_t winners[2][kMergeWarps][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    largest.clear();
    smallest.clear();
    if (feature < width)
      add(parts, width, feature, begin + share_begin(count, warp), begin + share_begin(count, warp + 1));
    if constexpr (kMax) {
      values[kLargestPart][warp][lane] = largest.best[0];
      winners[0][warp][lane] = largest.column[0];
    }
    if constexpr (kMin) {
      values[kSmallestPart][warp][lane] = smallest.best[0];
      winners[1][warp][lane] = smallest.column[0];
    }
#pragma unroll
    for (int k = 0; k < kSums; ++k) values[kSumPart + k][warp][lane] = sums[k];
    __syncthreads();
    if (warp != 0) return;
    for (int w = 1; w < kMergeWarps; ++w) {
      if constexpr (kMax) take(largest, values[kLargestPart][w][lane], winners[0][w][lane]);
      if constexpr (kMin) take(smallest, values[kSmallestPart][w][lane], winners[1][w][lane]);
#pragma unroll
      for (int k = 0; k < kSums; ++k) sums[k] += values[kSumPart + k][w][lane];
    }
  }
};

/// Merges the slot runs of very long rows into parts of `runs`: one block per run and 32 features. `count`
/// points to the number of runs.
template <class S, bool kMax, bool kMin, bool kMoments>
__global__ void __launch_bounds__(32 * kMergeWarps, kMergeBlocks<Sum<S>>)
    merge_neighbor_runs_kernel(const SlotRun* list, const int64_t* count, int width,
                               const __grid_constant__ NeighborParts<Sum<S>> slots,
                               const __grid_constant__ NeighborParts<Sum<S>> runs) {
  begin_overlapping();
  if (blockIdx.x >= *count) return;
  const SlotRun run = list[blockIdx.x];
  const int feature = static_cast<int>(blockIdx.y * 32 + threadIdx.x % 32);
  NeighborMerge<S, kMax, kMin, kMoments> merge;
  merge.by_block(slots, width, feature, run.begin, run.end - run.begin);
  if (threadIdx.x >= 32 || feature >= width) return;
  const int64_t offset = static_cast<int64_t>(blockIdx.x) * width + feature;
  const auto leave = [&](const auto& state, int winner) {
    runs.value[state.kPart][offset] = state.best[0];
    runs.winner[winner][offset] = state.column[0];
  };
  if constexpr (kMax) leave(merge.largest, 0);
  if constexpr (kMin) leave(merge.smallest, 1);
#pragma unroll
  for (int k = 0; k < merge.kSums; ++k) runs.value[kSumPart + k][offset] = merge.sums[k];
}

/// The results of rows that the plan split: one block per row and 32 features. `count` points to the number
/// of rows.
template <class S, bool kMax, bool kMin, bool kMoments>
__global__ void __launch_bounds__(32 * kMergeWarps, kMergeBlocks<Sum<S>>)
    merge_neighbors_kernel(const HeavyRow* heavy, const int64_t* count,
                           const __grid_constant__ NeighborArguments<S> a,
                           const __grid_constant__ NeighborParts<Sum<S>> runs) {
  using A = Sum<S>;
  begin_overlapping();
  if (blockIdx.x >= *count) return;
  const HeavyRow row = heavy[blockIdx.x];
  const RowParts parts(row, heavy[blockIdx.x + 1]);
  const int feature = static_cast<int>(blockIdx.y * 32 + threadIdx.x % 32);
  NeighborParts<A> input;
#pragma unroll
  for (int k = 0; k < kParts; ++k) input.value[k] = parts.runs ? runs.value[k] : a.part[k];
#pragma unroll
  for (int k = 0; k < 2; ++k) input.winner[k] = parts.runs ? runs.winner[k] : a.part_winner[k];
  NeighborMerge<S, kMax, kMin, kMoments> merge;
  merge.by_block(input, a.width, feature, parts.begin, parts.count);
  if (threadIdx.x >= 32 || feature >= a.width) return;
  if constexpr (kMax) merge.largest.write(a, feature, row.row);
  if constexpr (kMin) merge.smallest.write(a, feature, row.row);
  if constexpr (kMoments) {
    const A total[1] = {merge.sums[0]}, off[1] = {merge.sums[1]}, square[1] = {merge.sums[2]};
    const int length = static_cast<int>(a.offsets[row.row + 1] - a.offsets[row.row]);
    write_moments<S, 1>(a, row.row, feature, length, total, off, square);
  }
}

}  // namespace adj::kernels::cuda
