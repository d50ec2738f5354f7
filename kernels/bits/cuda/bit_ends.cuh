#pragma once

// What becomes of the sums of a tile of a product of bits (bit_product.sm_90a.cu), which multipliers have in
// registers: integers, floats, or bits and bytes through the end of a layer.

#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/dense/cuda/tensor_core.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kMultipliers = 256, kThreads = kMultipliers + 128;
constexpr int kTileRows = 128;
static_assert(BitTensor::kRowBytes == kRowBytes && BitTensor::kRowGroup * kRowBytes == kPatternBytes);

/// What becomes of sums.
enum class Ending : uint8_t { integers, floats, bits };
/// What operands are: planes, or bytes (expand_bits), which are one plane of 128 numbers a step.
enum class Element : uint8_t { bit, byte };

struct Arguments {
  BitOperand a = {}, b = {};
  int steps = 0;
  // Of A: which steps have a bit (BitSteps), a bit's step being `finer` steps here; or null.
  const int32_t *step_counts = nullptr, *step_list = nullptr;
  int finer = 1;
  int row_tiles = 0, tiles = 0;
  bool small_sums = false;  ///< are all sums less than 2^23?
  int64_t inner = 0;
  int32_t* integers = nullptr;
  float* floats = nullptr;
  BitResult result = {};
};

/// A tile of Y, and which steps it takes.
struct Tile {
  int row, column;  ///< of tiles
  int steps;
  const int32_t* list;

  __device__ Tile(const Arguments& args, int number)
      : row(number % args.row_tiles), column(number / args.row_tiles), steps(args.steps), list(nullptr) {
    if (args.step_list == nullptr) return;
    const int of_bits = (args.steps + args.finer - 1) / args.finer, count = __ldg(args.step_counts + row);
    list = args.step_list + int64_t{row} * of_bits;
    steps = count * args.finer;
    // The last one of bits may be fewer here.
    if (count > 0 && __ldg(list + count - 1) == of_bits - 1) steps -= of_bits * args.finer - args.steps;
  }
  __device__ int step(const Arguments& args, int number) const {
    return list == nullptr ? number : __ldg(list + number / args.finer) * args.finer + number % args.finer;
  }
};

/// Leaves f(column) of the tile's columns in shared memory, by all multipliers.
template <int kN, class T, class F>
__device__ __forceinline__ void leave_columns(T* columns, const Tile& tile, int n, F&& f) {
  const int column = tile.column * kN + static_cast<int>(threadIdx.x);
  if (static_cast<int>(threadIdx.x) < kN) columns[threadIdx.x] = column < n ? f(column) : T{};
}

/// A thread's place in the tile: its rows are first_row and the one 8 below, its columns pairs from
/// first_column on, every 8.
struct Fragment {
  int first_row, first_column, in_tile;

  template <int kN>
  static __device__ Fragment of(const Tile& tile) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int in_tile = lane % 4 * 2;
    return {tile.row * kTileRows + warp * 16 + lane / 4, tile.column * kN + in_tile, in_tile};
  }
};

template <int kN, int kSums>
__device__ __forceinline__ void leave_integers(const Arguments& args, const Tile& tile,
                                               const int32_t (&sum)[kSums]) {
  const Fragment at = Fragment::of<kN>(tile);
  const int n = args.b.outer;
  const bool pairs = n % 2 == 0;  // may two neighbours be written at once?
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = at.first_row + h * 8;
    if (row >= args.a.outer) continue;
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) {
      const int column = at.first_column + j * 8;
      int32_t* const to = args.integers + int64_t{row} * n + column;
      if (pairs && column < n) {
        *reinterpret_cast<int2*>(to) = {sum[j * 4 + h * 2], sum[j * 4 + h * 2 + 1]};
      } else {
        if (column < n) to[0] = sum[j * 4 + h * 2];
        if (column + 1 < n) to[1] = sum[j * 4 + h * 2 + 1];
      }
    }
  }
}

/// What an end takes of columns and of a thread's rows: read before the products, in whose time it arrives.
template <Ending kEnding>
struct EndTerms {};
template <>
struct EndTerms<Ending::floats> {
  using Column = BitTerm;
  BitTerm rows[2];

  __device__ void read(const Arguments& args, const Fragment& at) {
#pragma unroll
    for (int h = 0; h < 2; ++h) rows[h] = args.a.term(min(at.first_row + h * 8, args.a.outer - 1));
  }
  static __device__ Column column(const Arguments& args, int c) { return args.b.term(c); }
};
template <>
struct EndTerms<Ending::bits> {
  using Column = BitColumn;
  BitRow rows[2];

  __device__ void read(const Arguments& args, const Fragment& at) {
#pragma unroll
    for (int h = 0; h < 2; ++h)
      rows[h] = args.result.row(args.a, min(at.first_row + h * 8, args.a.outer - 1),
                                static_cast<float>(args.inner));
  }
  static __device__ Column column(const Arguments& args, int c) { return args.result.column(args.b, c); }
};

template <int kN, int kSums>
__device__ __forceinline__ void leave_floats(const Arguments& args, const Tile& tile, const BitTerm* columns,
                                             const EndTerms<Ending::floats>& terms,
                                             const int32_t (&sum)[kSums]) {
  const Fragment at = Fragment::of<kN>(tile);
  const int n = args.b.outer;
  const auto inner = static_cast<double>(args.inner);
  float* const to = args.floats + int64_t{at.first_row} * n + at.first_column;
#pragma unroll
  for (int j = 0; j < kN / 8; ++j)
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const BitTerm column = columns[at.in_tile + j * 8 + v];
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if (at.first_row + h * 8 < args.a.outer && at.first_column + j * 8 + v < n)
          to[int64_t{h} * 8 * n + j * 8 + v] =
              bit_value(sum[j * 4 + h * 2 + v], terms.rows[h], column, inner);
    }
}

/// requantized() to the bit, as the last bits of a word, without an instruction that converts: 16 a cycle,
/// these would take longer than all else. 2^23 added to a number within 0 and 2^23 leaves it, rounded to
/// nearest even, in the last bits; kSmall: a sum less than 2^23 put there is that many more than 2^23.
template <bool kSmall>
__device__ __forceinline__ uint32_t quick_requantized(int32_t sum, const BitRow& row, const BitColumn& column,
                                                      float largest) {
  constexpr float kTop = 8388608.0f;
  const float wide = kSmall ? __int_as_float(sum + 0x4b000000) - kTop : static_cast<float>(sum);
  return __float_as_uint(fminf(requantized_unrounded(wide, row, column), largest) + kTop);
}

/// Adds what the four lanes of a row have of its sum.
__device__ __forceinline__ void add_sums(const Arguments& args, const Fragment& at, int (&total)[2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    total[h] += __shfl_xor_sync(0xffffffffu, total[h], 1);
    total[h] += __shfl_xor_sync(0xffffffffu, total[h], 2);
    const int row = at.first_row + h * 8;
    if (threadIdx.x % 4 == 0 && row < args.a.outer)
      atomicAdd(args.result.sums + row, total[h]);  // integers: in any order
  }
}

/// Words of 32 columns: the four lanes of a row have eight of them each.
template <int kN, bool kSmall, int kSums>
__device__ __forceinline__ void leave_bits(const Arguments& args, const Tile& tile, const BitColumn* columns,
                                           const EndTerms<Ending::bits>& terms, const int32_t (&sum)[kSums]) {
  const Fragment at = Fragment::of<kN>(tile);
  const BitResult& result = args.result;
  const int n = args.b.outer, lane = static_cast<int>(threadIdx.x) % 32;
  BitRow rows[2];
  int total[2] = {};
#pragma unroll
  for (int h = 0; h < 2; ++h)
    rows[h] = result.row(args.a, min(at.first_row + h * 8, args.a.outer - 1), static_cast<float>(args.inner));
  const auto largest = static_cast<float>(result.largest);
#pragma unroll
  for (int w = 0; w < kN / 32; ++w) {
    uint32_t even[2], odd[2];  // a byte for each of four columns
    uint32_t q[2][8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int j = w * 4 + i / 2;
      const BitColumn column = columns[at.in_tile + j * 8 + i % 2];
#pragma unroll
      for (int h = 0; h < 2; ++h)
        q[h][i] = quick_requantized<kSmall>(sum[j * 4 + h * 2 + i % 2], terms.rows[h], column, largest);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const auto bytes = [&](int i) {
        return __byte_perm(__byte_perm(q[h][i], q[h][i + 2], 0x0040),
                           __byte_perm(q[h][i + 4], q[h][i + 6], 0x0040), 0x5410);
      };
      even[h] = bytes(0);
      odd[h] = bytes(1);
    }
    const int first = tile.column * kN + w * 32, there = n - first;
    const uint32_t mask = there >= 32 ? 0xffffffffu : there <= 0 ? 0u : (1u << there) - 1;
    for (int p = 0; p < result.bits; ++p)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        uint32_t word = (even[h] >> p & 0x01010101u) | (odd[h] >> p & 0x01010101u) << 1;
        word = word << at.in_tile & mask;
        word |= __shfl_xor_sync(0xffffffffu, word, 1);
        word |= __shfl_xor_sync(0xffffffffu, word, 2);
        const int row = at.first_row + h * 8;
        if (lane % 4 != w % 4) continue;
        total[h] += __popc(word) << p;
        if (row < args.a.outer && there > 0)
          *reinterpret_cast<uint32_t*>(result.planes + p * result.plane_bytes +
                                       bit_place(result.step_bytes, row, first)) = word;
      }
  }
  add_sums(args, at, total);
}

/// Bytes of rows, or of a BitTensor of bytes with its sums: pairs of columns.
template <int kN, bool kSmall, int kSums>
__device__ __forceinline__ void leave_bytes(const Arguments& args, const Tile& tile, const BitColumn* columns,
                                            const EndTerms<Ending::bits>& terms,
                                            const int32_t (&sum)[kSums]) {
  const Fragment at = Fragment::of<kN>(tile);
  const BitResult& result = args.result;
  const int n = args.b.outer;
  const bool pairs = n % 2 == 0;  // may two neighbours be written at once?
  const auto largest = static_cast<float>(result.largest);
  int total[2] = {};
#pragma unroll
  for (int j = 0; j < kN / 8; ++j) {
    const int column = at.first_column + j * 8;
    const BitColumn first = columns[at.in_tile + j * 8], second = columns[at.in_tile + j * 8 + 1];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const uint32_t q[2] = {
          quick_requantized<kSmall>(sum[j * 4 + h * 2], terms.rows[h], first, largest) & 0xff,
          quick_requantized<kSmall>(sum[j * 4 + h * 2 + 1], terms.rows[h], second, largest) & 0xff};
      const int row = at.first_row + h * 8;
      if (row >= args.a.outer || column >= n) continue;
      uint8_t* const to = result.byte_at(row, column, n);
      const bool both = column + 1 < n;
      total[h] += static_cast<int>(q[0] + (both ? q[1] : 0));
      if (pairs || (both && result.step_bytes > 0)) {
        *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(q[0] | q[1] << 8);
      } else {
        to[0] = static_cast<uint8_t>(q[0]);
        if (both) to[1] = static_cast<uint8_t>(q[1]);
      }
    }
  }
  if (result.sums == nullptr) return;
  add_sums(args, at, total);
}

}  // namespace

}  // namespace adj::kernels::cuda
