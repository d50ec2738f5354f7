#pragma once

// Column-wise passes over a matrix [rows, width]: a thread keeps one pack of columns and walks down the rows,
// so column parameters stay in registers and no index is divided. A block covers a tile of adjacent packs by
// as many rows as its threads allow.
//
// Column sums add four rows in float32 and then in double: adding each number in double converts at a quarter
// of the rate (batch norm's bfloat16 backward sums took 0.103 ms instead of 0.076 at 169,343 x 256 on an
// H200). Two blocks per SM, as sums may take 128 registers.

#include <adjoint/kernels/cuda/reduction.cuh>

#include <type_traits>

namespace adj::kernels::cuda {

struct ColumnTile {
  int64_t packs;       // per row
  int packs_per_tile;  // at most 256 bytes of a row
  int rows_per_step;   // covered by a block at once
  int64_t tiles;
};

/// Tile for rows of `width` values, N per pack (N divides `width`).
inline ColumnTile column_tile(int64_t width, int n) {
  const int64_t packs = width / n;
  const int most = n == 1 ? 32 : std::max(64 / n, 1);
  const int per_tile = static_cast<int>(std::clamp<int64_t>(packs, 1, std::min(most, 32)));
  return {packs, per_tile, kBlockThreads / per_tile, ceil_div(packs, per_tile)};
}

/// Position of a thread in its tile.
struct ColumnPlace {
  int lane;      // in the tile
  int group;     // row within a step; excess threads have none
  int64_t pack;  // of the row
  bool active;

  __device__ ColumnPlace(const ColumnTile& tile, int64_t first_tile)
      : lane(static_cast<int>(threadIdx.x) % tile.packs_per_tile),
        group(static_cast<int>(threadIdx.x) / tile.packs_per_tile),
        pack((first_tile + blockIdx.x) * tile.packs_per_tile + lane),
        active(group < tile.rows_per_step && pack < tile.packs) {}
};

// Body: `Columns open(pack)` loads column parameters; `void row(Columns, row, pack)` writes a pack.
template <class Body>
__global__ void __launch_bounds__(kBlockThreads)
    map_columns_kernel(int64_t rows, ColumnTile tile, Body body) {
  begin_overlapping();
  const ColumnPlace place(tile, 0);
  if (!place.active) return;
  const auto columns = body.open(place.pack);
  const int64_t step = int64_t{gridDim.y} * tile.rows_per_step;
#pragma unroll 2
  for (int64_t row = blockIdx.y * int64_t{tile.rows_per_step} + place.group; row < rows; row += step)
    body.row(columns, row, place.pack);
}

/// body.row(columns, row, pack) for every pack of N columns in every row.
template <int N, class Body>
void map_columns(const char* name, int device, int64_t rows, int64_t width, const Body& body) {
  constexpr int kRowsPerThread = 8;
  const ColumnTile tile = column_tile(width, N);
  const int64_t row_blocks = std::min<int64_t>(ceil_div(rows, tile.rows_per_step * kRowsPerThread), 65535);
  launch(name, overlapping(device, grid(tile.tiles, row_blocks)), map_columns_kernel<Body>, rows, tile, body);
}

/// Sums each of the K * N values over the block's groups, into group 0's threads.
template <int K, int N>
__device__ __forceinline__ void sum_over_groups(double (&sum)[K][N], const ColumnTile& tile, int group) {
  __shared__ double shared[K * N][kBlockThreads];
#pragma unroll
  for (int i = 0; i < K * N; ++i) shared[i][threadIdx.x] = sum[i / N][i % N];
  for (int count = tile.rows_per_step; count > 1;) {
    const int half = (count + 1) / 2;
    __syncthreads();
    if (group < count - half) {
#pragma unroll
      for (int i = 0; i < K * N; ++i)
        shared[i][threadIdx.x] += shared[i][threadIdx.x + half * tile.packs_per_tile];
    }
    count = half;
  }
#pragma unroll
  for (int i = 0; i < K * N; ++i) sum[i / N][i % N] = shared[i][threadIdx.x];
  __syncthreads();  // before the next use
}

// Body: `Columns open(pack)`; `void add(Columns, row, pack, sum)` adds a row to Term sum[K][N], which covers
// a few rows and is then added in double; `void finish(column, total)` receives double total[K], once per
// column.
template <int K, int N, class Body>
__global__ void __launch_bounds__(kBlockThreads, 2)
    sum_columns_kernel(int64_t rows, ColumnTile tile, int64_t first_tile, Body body, double* partial,
                       unsigned* counters) {
  begin_overlapping();
  const ColumnPlace place(tile, first_tile);
  double sum[K][N] = {};
  if (place.active) {
    const auto columns = body.open(place.pack);
    const int64_t step = int64_t{gridDim.y} * tile.rows_per_step;
    constexpr int kTogether = 4;
    int64_t row = blockIdx.y * int64_t{tile.rows_per_step} + place.group;
    if constexpr (std::is_same_v<typename Body::Term, double>) {
#pragma unroll kTogether
      for (; row < rows; row += step) body.add(columns, row, place.pack, sum);
    } else {
      for (; row < rows; row += kTogether * step) {
        typename Body::Term some[K][N] = {};
        if (row + (kTogether - 1) * step < rows) {
#pragma unroll
          for (int u = 0; u < kTogether; ++u) body.add(columns, row + u * step, place.pack, some);
        } else {
          for (int64_t r = row; r < rows; r += step) body.add(columns, r, place.pack, some);
        }
#pragma unroll
        for (int i = 0; i < K * N; ++i) sum[i / N][i % N] += static_cast<double>(some[i / N][i % N]);
      }
    }
  }
  sum_over_groups<K, N>(sum, tile, place.group);

  if (gridDim.y > 1) {
    // partial[block][k][column], over the columns of all tiles.
    const int64_t width = tile.packs * N, column = place.pack * N;
    if (place.active && place.group == 0) {
#pragma unroll
      for (int k = 0; k < K; ++k)
#pragma unroll
        for (int c = 0; c < N; ++c) partial[(int64_t{blockIdx.y} * K + k) * width + column + c] = sum[k][c];
    }
    if (!is_last_block(counters + blockIdx.x, gridDim.y)) return;
#pragma unroll
    for (int i = 0; i < K * N; ++i) sum[i / N][i % N] = 0.0;
    if (place.active) {
      for (unsigned b = place.group; b < gridDim.y; b += tile.rows_per_step)
#pragma unroll
        for (int k = 0; k < K; ++k)
#pragma unroll
          for (int c = 0; c < N; ++c)
            sum[k][c] += __ldcg(partial + (int64_t{b} * K + k) * width + column + c);
    }
    sum_over_groups<K, N>(sum, tile, place.group);
  }
  if (place.active && place.group == 0) {
#pragma unroll
    for (int c = 0; c < N; ++c) {
      double total[K];
#pragma unroll
      for (int k = 0; k < K; ++k) total[k] = sum[k][c];
      body.finish(place.pack * N + c, total);
    }
  }
}

/// K sums per column over all rows, in one launch; each column is finished once, with zeros if there are no
/// rows.
template <int K, int N, class Body>
void sum_over_rows(const char* name, int device, int64_t rows, int64_t width, const Body& body) {
  constexpr int kRowsPerThread = 4;
  const ColumnTile tile = column_tile(width, N);
  if (tile.packs == 0) return;
  const int64_t wanted = ceil_div(rows, tile.rows_per_step * kRowsPerThread);
  // All blocks resident at once, as far as the sums' registers allow.
  constexpr int kBlocksOfMultiprocessor = K * N >= 16 ? 2 : 4;
  const int64_t most = std::max<int64_t>(
      int64_t{properties(device).multiprocessors} * kBlocksOfMultiprocessor / tile.tiles, 1);
  const int64_t row_blocks = std::clamp<int64_t>(wanted, 1, most);
  Tensor partial = partials(device, row_blocks > 1 ? row_blocks * K * width : 0);
  for (int64_t first = 0; first < tile.tiles; first += kArrivalCounters) {
    const auto tiles = static_cast<unsigned>(std::min<int64_t>(tile.tiles - first, kArrivalCounters));
    launch(name, overlapping(device, grid(tiles, row_blocks)), sum_columns_kernel<K, N, Body>, rows, tile,
           first, body, partial.mutable_data<double>(), arrival_counters(device));
  }
}

}  // namespace adj::kernels::cuda
