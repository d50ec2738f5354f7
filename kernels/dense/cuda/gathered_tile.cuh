#pragma once

// Tiles of 64 x 64 of a product of matrices that are gathered as they are loaded: a block of 128 threads,
// each with 8 x 4 sums, 16 terms in shared memory at a time.

#include <adjoint/kernels/cuda/map.cuh>

namespace adj::kernels::cuda {

constexpr int kTileShift = 6, kTile = 1 << kTileShift, kDepth = 16, kTileThreads = 128;
constexpr int kRowsPerThread = 8, kColumnsPerThread = 4;   // of a tile
constexpr int kPacks = kTile * kDepth / 4 / kTileThreads;  // of four numbers, per thread and operand
constexpr int kPitch = kTile + 4;                          // keeps rows aligned to 16 bytes
static_assert(kTile / kRowsPerThread * (kTile / kColumnsPerThread) == kTileThreads);

template <class T>
using Part = T[kDepth][kPitch];

/// Four numbers, zeros from `valid` on. `wide`: may be read together.
template <class S>
__device__ __forceinline__ Pack<Accumulator<S>, 4> load_four(const S* address, int64_t valid, bool wide) {
  if (wide && valid >= 4) return load_wide<4>(address);
  Pack<Accumulator<S>, 4> pack;
#pragma unroll
  for (int i = 0; i < 4; ++i) pack[i] = i < valid ? widen(address[i]) : Accumulator<S>{0};
  return pack;
}

/// A chunk of an operand on its way to shared memory, kTile long along its outer extent and kDepth along the
/// inner one. Rows in memory run along the inner extent...
template <class S>
struct InnerRows {
  const S* row[kPacks];  ///< of this thread's packs; null beyond the last
  int64_t inner;
  bool wide;
  Pack<Accumulator<S>, 4> pack[kPacks];

  static __device__ int outer_of(int i) { return (static_cast<int>(threadIdx.x) + i * kTileThreads) / 4; }
  static __device__ int depth_of() { return static_cast<int>(threadIdx.x) % 4 * 4; }
  __device__ void read(int64_t k0) {
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const int64_t k = k0 + depth_of();
      pack[i] = load_four(row[i] + k, row[i] == nullptr ? 0 : inner - k, wide);
    }
  }
  __device__ void write(Part<Accumulator<S>>& part) const {
#pragma unroll
    for (int i = 0; i < kPacks; ++i)
#pragma unroll
      for (int d = 0; d < 4; ++d) part[depth_of() + d][outer_of(i)] = pack[i][d];
  }
};

/// ...or along the outer one: row d is at address(d), null beyond the last, of which `outer` numbers count.
template <class S>
struct OuterRows {
  int64_t outer;
  bool wide;
  Pack<Accumulator<S>, 4> pack[kPacks];

  static __device__ int depth_of(int i) {
    return (static_cast<int>(threadIdx.x) + i * kTileThreads) / (kTile / 4);
  }
  static __device__ int outer_of() { return static_cast<int>(threadIdx.x) % (kTile / 4) * 4; }
  template <class Address>
  __device__ void read(const Address& address) {
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const S* const row = address(depth_of(i));
      pack[i] = load_four(row + outer_of(), row == nullptr ? 0 : outer - outer_of(), wide);
    }
  }
  __device__ void write(Part<Accumulator<S>>& part) const {
#pragma unroll
    for (int i = 0; i < kPacks; ++i) store(&part[depth_of(i)][outer_of()], pack[i]);
  }
};

/// A thread's sums: rows from `row` on, columns from `column` on of its tile.
template <class T>
struct TileSums {
  T sum[kRowsPerThread][kColumnsPerThread] = {};

  static __device__ int row() {
    return static_cast<int>(threadIdx.x) / (kTile / kColumnsPerThread) * kRowsPerThread;
  }
  static __device__ int column() {
    return static_cast<int>(threadIdx.x) % (kTile / kColumnsPerThread) * kColumnsPerThread;
  }
  __device__ void add(const Part<T>& left, const Part<T>& right) {
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const Pack<T, 4> upper = load<4>(&left[d][row()]), lower = load<4>(&left[d][row() + 4]),
                       b = load<4>(&right[d][column()]);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < kColumnsPerThread; ++j) {
          sum[i][j] = fma(upper[i], b[j], sum[i][j]);
          sum[i + 4][j] = fma(lower[i], b[j], sum[i + 4][j]);
        }
    }
  }
  /// To columns [0, columns) of the rows that row_of(i) returns for i in [0, rows), with `bias` of the
  /// columns or null.
  template <class S, class Row>
  __device__ void write(int64_t rows, int64_t columns, const S* bias, bool wide, const Row& row_of) const {
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i) {
      if (row() + i >= rows) return;
      S* const address = row_of(row() + i) + column();
      Pack<T, 4> pack;
#pragma unroll
      for (int j = 0; j < kColumnsPerThread; ++j)
        pack[j] = sum[i][j] + (bias != nullptr && column() + j < columns ? widen(bias[column() + j]) : T{0});
      if (wide && column() + kColumnsPerThread <= columns) {
        store_narrow<4>(address, pack);
      } else {
#pragma unroll
        for (int j = 0; j < kColumnsPerThread; ++j)
          if (column() + j < columns) address[j] = narrow<S>(pack[j]);
      }
    }
  }
};

}  // namespace adj::kernels::cuda
