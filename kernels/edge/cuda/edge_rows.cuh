#pragma once

// Reductions of per-entry values [M,H] over the rows of a structure, per head. A few lanes of a warp take a
// row, adjacent over heads and then over entries, so that reads are contiguous; longer rows of a block are
// then processed one by one by all its threads. Which rows these are, and so the order of every sum, depends
// only on the structure and H.

#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/sparse/csr.h>

#include <bit>

namespace adj::kernels::cuda {

struct EdgeLayout {
  int lanes;       ///< lanes per row; a power of two
  int head_lanes;  ///< of these, adjacent over heads; a power of two
  int64_t most;    ///< maximum entries of a row that is not long
};

/// As many lanes as the mean row keeps busy.
inline EdgeLayout edge_layout(const Csr& csr, int64_t heads) {
  constexpr int64_t kRounds = 32;
  const int head_lanes =
      static_cast<int>(std::min(std::bit_ceil(static_cast<uint64_t>(heads)), uint64_t{32}));
  const int64_t values = ceil_div(csr.entries(), std::max<int64_t>(csr.rows, 1)) * head_lanes;
  const int lanes = values <= 8 ? 8 : values <= 16 ? 16 : 32;
  const int taken = std::max(lanes, head_lanes);
  return {taken, head_lanes, kRounds * taken / head_lanes};
}

/// The lanes of a warp that share a row.
struct LaneTeam {
  int lanes, head_lanes;

  __device__ int first() const { return static_cast<int>(threadIdx.x) % lanes / head_lanes; }
  __device__ int step() const { return lanes / head_lanes; }
  /// Reduction for a head over the team's lanes; the same on all of them.
  template <class T, class F>
  __device__ T reduce(T value, F f) const {
    for (int offset = lanes / 2; offset >= head_lanes; offset /= 2)
      value = f(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
  }
};

/// All threads of a block.
struct BlockTeam {
  int head_lanes;

  __device__ int first() const { return static_cast<int>(threadIdx.x) / head_lanes; }
  __device__ int step() const { return kBlockThreads / head_lanes; }
  template <class T, class F>
  __device__ T reduce(T value, F f) const {
    constexpr int kWarps = kBlockThreads / 32;
    __shared__ T of_warp[kWarps][32];
    value = LaneTeam{32, head_lanes}.reduce(value, f);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    __syncthreads();  // earlier readers are done
    of_warp[threadIdx.x / 32][lane] = value;
    __syncthreads();
    value = of_warp[0][lane];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) value = f(value, of_warp[w][lane]);
    return value;
  }
};

struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};

/// Addresses of an entry's values.
struct EntryPlaces {
  const int32_t* order;
  int64_t heads;

  EntryPlaces(const CsrMatrix& a, const Tensor& of_entries)
      : order(data_or_null<int32_t>(a.order)), heads(heads_of(of_entries)) {}
  __device__ __forceinline__ int64_t operator()(int64_t k, int64_t head) const {
    return (order == nullptr ? k : static_cast<int64_t>(__ldg(order + k))) * heads + head;
  }
};

/// A thread's entries of a row for its head; none without a row or head.
struct EntryRange {
  int64_t row, begin, end, head;
};

// All lanes of a warp call body.row(team, EntryRange) together, so that shuffles are complete. `begin` to
// `end` are the row's entries, of which a thread takes every team.step()-th from team.first() on; a thread
// without a row or head has none and row -1.
template <class Body>
__global__ void __launch_bounds__(kBlockThreads)
    edge_rows_kernel(const int64_t* offsets, int64_t rows, int64_t heads, EdgeLayout layout, Body body) {
  begin_overlapping();
  const int64_t head = int64_t{blockIdx.y} * layout.head_lanes + threadIdx.x % layout.head_lanes;
  const int groups = kBlockThreads / layout.lanes;
  const int64_t step = int64_t{gridDim.x} * groups;
  for (int64_t first = int64_t{blockIdx.x} * groups; first < rows; first += step) {
    const int64_t row = first + static_cast<int>(threadIdx.x) / layout.lanes;
    EntryRange range{-1, 0, 0, head};
    bool is_long = false;
    if (row < rows) {
      const int64_t begin = offsets[row], end = offsets[row + 1];
      is_long = end - begin > layout.most;
      if (!is_long && head < heads) range = {row, begin, end, head};
    }
    body.row(LaneTeam{layout.lanes, layout.head_lanes}, range);
    if (!__syncthreads_or(is_long)) continue;
    for (int64_t r = first; r < first + groups && r < rows; ++r) {
      const int64_t begin = offsets[r], end = offsets[r + 1];
      if (end - begin <= layout.most) continue;
      body.row(BlockTeam{layout.head_lanes},
               head < heads ? EntryRange{r, begin, end, head} : EntryRange{-1, 0, 0, head});
    }
  }
}

/// body.row for every row and head.
template <class Body>
void map_edge_rows(const char* name, const Csr& csr, int64_t heads, const Body& body) {
  const EdgeLayout layout = edge_layout(csr, heads);
  launch(name,
         overlapping(csr.device().index,
                     grid(blocks_for(csr.rows * layout.lanes), ceil_div(heads, layout.head_lanes))),
         edge_rows_kernel<Body>, csr.offsets.data<int64_t>(), csr.rows, heads, layout, body);
}

}  // namespace adj::kernels::cuda
