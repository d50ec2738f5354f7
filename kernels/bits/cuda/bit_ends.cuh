#pragma once

// Epilogues of a tile of a bit product (bit_product.sm_90a.cu), on the sums that the multiplier warps hold in
// registers: integers, floats, or requantized bits and bytes after the layer's epilogue.

#include <adjoint/core/cuda/beside.cuh>
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/bits/cuda/requantize.cuh>
#include <adjoint/kernels/dense/cuda/tensor_core.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kMultipliers = 256, kThreads = kMultipliers + 128;
constexpr int kColumnThreads = 96;  // after the copying warp
constexpr int kTileRows = 128;
static_assert(BitTensor::kRowBytes == kRowBytes && BitTensor::kRowGroup * kRowBytes == kPatternBytes);

/// Output of the sums.
enum class Ending : uint8_t { integers, floats, bits };
/// Operand type: planes, or bytes (expand_bits), which are one plane of 128 numbers per step.
enum class Element : uint8_t { bit, byte };

struct Arguments {
  BitOperand a = {}, b = {};
  int steps = 0;
  // Nonempty steps of A (BitSteps), each equals `finer` steps of this kernel; or null.
  const int32_t *step_counts = nullptr, *step_list = nullptr;
  int finer = 1;
  int row_tiles = 0, tiles = 0;
  bool overlap = false;     ///< may the previous kernel still be clearing the result?
  bool small_sums = false;  ///< are all sums below 2^23?
  bool alike_rows = false;  ///< may thresholds compute one-bit outputs, if the zeros are multiples of 1/2?
  int64_t inner = 0;
  int32_t* integers = nullptr;
  float* floats = nullptr;
  const float* bias = nullptr;  ///< of float outputs
  BitResult result = {};
};

/// A tile of Y and its steps.
struct Tile {
  int row, column;  ///< in tiles
  int steps;
  const int32_t* list;

  __device__ Tile(const Arguments& args, int number)
      : row(number % args.row_tiles), column(number / args.row_tiles), steps(args.steps), list(nullptr) {
    if (args.step_list == nullptr) return;
    const int of_bits = (args.steps + args.finer - 1) / args.finer, count = __ldg(args.step_counts + row);
    list = args.step_list + int64_t{row} * of_bits;
    steps = count * args.finer;
    // The last step of A's bits may have fewer steps here.
    if (count > 0 && __ldg(list + count - 1) == of_bits - 1) steps -= of_bits * args.finer - args.steps;
  }
  __device__ int step(const Arguments& args, int number) const {
    return list == nullptr ? number : __ldg(list + number / args.finer) * args.finer + number % args.finer;
  }
};

/// A thread's position in the tile: its rows are first_row and the one 8 below, its columns pairs from
/// first_column on, every 8.
struct Fragment {
  int first_row, first_column, in_tile;
};
template <int kN>
__device__ Fragment fragment_of_thread(const Tile& tile) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int in_tile = lane % 4 * 2;
  return {tile.row * kTileRows + warp * 16 + lane / 4, tile.column * kN + in_tile, in_tile};
}

template <int kN, int kSums>
__device__ __forceinline__ void leave_integers(const Arguments& args, const Tile& tile,
                                               const int32_t (&sum)[kSums]) {
  const Fragment fragment = fragment_of_thread<kN>(tile);
  const int n = args.b.outer;
  const bool pairs = n % 2 == 0;  // can two adjacent columns be written at once?
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = fragment.first_row + h * 8;
    if (row >= args.a.outer) continue;
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) {
      const int column = fragment.first_column + j * 8;
      int32_t* const output = args.integers + int64_t{row} * n + column;
      if (pairs && column < n) {
        *reinterpret_cast<int2*>(output) = {sum[j * 4 + h * 2], sum[j * 4 + h * 2 + 1]};
      } else {
        if (column < n) output[0] = sum[j * 4 + h * 2];
        if (column + 1 < n) output[1] = sum[j * 4 + h * 2 + 1];
      }
    }
  }
}

/// Four times the zeros of a product computed by thresholds (bit_threshold), if they are integers.
struct FourZeros {
  int a = 0, b = 0;
  bool whole = false;

  __device__ FourZeros() {}
  explicit __device__ FourZeros(const Arguments& args) {
    if (!args.alike_rows) return;
    a = four_zeros(args.a.zero.at(0), (1 << args.a.bits) - 1);
    b = four_zeros(args.b.zero.at(0), (1 << args.b.bits) - 1);
    whole = a >= 0 && b >= 0;
  }
  /// 4 zero_b (K zero_a - row sum), for a row and the one 8 below.
  __device__ void read(const Arguments& args, int row, int32_t (&rest)[2]) const {
#pragma unroll
    for (int h = 0; h < 2; ++h)
      rest[h] = a / 2 * (b / 2) * static_cast<int32_t>(args.inner) -
                b * __ldg(args.a.sums + min(row + h * 8, args.a.outer - 1));
  }
};

/// Column and row terms of an epilogue, loaded before the products, which hide the latency.
template <Ending kEnding>
struct EndTerms {};
template <>
struct EndTerms<Ending::floats> {
  using Column = BitTermWithBias;
  BitTerm rows[2];

  __device__ void read(const Arguments& args, const Fragment& fragment) {
#pragma unroll
    for (int h = 0; h < 2; ++h) rows[h] = args.a.term(min(fragment.first_row + h * 8, args.a.outer - 1));
  }
  static __device__ Column column(const Arguments& args, int c) { return args.b.term(c, args.bias); }
};
template <>
struct EndTerms<Ending::bits> {
  using Column = BitColumn;
  BitRow rows[2];

  __device__ void read(const Arguments& args, const Fragment& fragment) {
#pragma unroll
    for (int h = 0; h < 2; ++h)
      rows[h] = args.result.row(args.a, min(fragment.first_row + h * 8, args.a.outer - 1),
                                static_cast<float>(args.inner));
  }
  static __device__ Column column(const Arguments& args, int c) { return args.result.column(args.b, c); }
};

/// All multipliers write f(column) of the tile's columns to shared memory.
template <int kN, class T, class F>
__device__ __forceinline__ void leave_columns(T* columns, const Tile& tile, int n, F&& f) {
  const int column = tile.column * kN + static_cast<int>(threadIdx.x);
  if (static_cast<int>(threadIdx.x) < kN) columns[threadIdx.x] = column < n ? f(column) : T{};
}

/// Thresholds of a tile's columns in shared memory.
template <int kN>
struct Thresholds {
  int32_t least[kN];  ///< the bit is least < 4 sum + rest of the row
  uint32_t inverted[kN / 32];
};
/// Computed by other warps during the products: all of a thread's at once, as a search is a chain of some 200
/// instructions.
template <int kN>
__device__ __forceinline__ void leave_thresholds(const Arguments& args, const FourZeros& zeros,
                                                 const Tile& tile, Thresholds<kN>& thresholds) {
  const int thread = static_cast<int>(threadIdx.x) - (kThreads - kColumnThreads);
  constexpr int kEach = (kN + kColumnThreads - 1) / kColumnThreads;
  const BitRow row = args.result.row(args.a, 0, static_cast<float>(args.inner));
  BitColumn columns[kEach];
  BitThreshold column_thresholds[kEach];
  int sums[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int column = min(tile.column * kN + thread + k * kColumnThreads, args.b.outer - 1);
    columns[k] = args.result.column(args.b, column);
    sums[k] = __ldg(args.b.sums + column);
  }
  bit_thresholds(row, columns, column_thresholds);
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int i = thread + k * kColumnThreads;
    const uint32_t inverted = __ballot_sync(0xffffffffu, column_thresholds[k].inverted);
    if (i >= kN) break;
    thresholds.least[i] = column_thresholds[k].least - 1 + zeros.a * sums[k];
    if (i % 32 == 0) thresholds.inverted[i / 32] = inverted;
  }
}

template <int kN, int kSums>
__device__ __forceinline__ void leave_floats(const Arguments& args, const Tile& tile,
                                             const BitTermWithBias* columns,
                                             const EndTerms<Ending::floats>& terms,
                                             const int32_t (&sum)[kSums]) {
  const Fragment fragment = fragment_of_thread<kN>(tile);
  const int n = args.b.outer;
  const auto inner = static_cast<double>(args.inner);
  float* const output = args.floats + int64_t{fragment.first_row} * n + fragment.first_column;
#pragma unroll
  for (int j = 0; j < kN / 8; ++j)
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const BitTermWithBias column = columns[fragment.in_tile + j * 8 + v];
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if (fragment.first_row + h * 8 < args.a.outer && fragment.first_column + j * 8 + v < n)
          output[int64_t{h} * 8 * n + j * 8 + v] =
              bit_value(sum[j * 4 + h * 2 + v], terms.rows[h], column, inner) + column.bias;
    }
}

/// Adds the partial row sums of a row's four lanes.
__device__ __forceinline__ void add_sums(const Arguments& args, const Fragment& fragment, int (&total)[2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    total[h] += __shfl_xor_sync(0xffffffffu, total[h], 1);
    total[h] += __shfl_xor_sync(0xffffffffu, total[h], 2);
    const int row = fragment.first_row + h * 8;
    if (threadIdx.x % 4 == 0 && row < args.a.outer)
      atomicAdd(args.result.sums + row, total[h]);  // integers: any order
  }
}

/// q of the lane's eight columns of word `w` (32 columns of the tile), for its two rows.
template <bool kSmall, int kSums>
__device__ __forceinline__ void requantize_word(int w, const Fragment& fragment, const BitColumn* columns,
                                                const EndTerms<Ending::bits>& terms,
                                                const int32_t (&sum)[kSums], float largest,
                                                uint32_t (&q)[2][8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int j = w * 4 + i / 2;
    const BitColumn column = columns[fragment.in_tile + j * 8 + i % 2];
#pragma unroll
    for (int h = 0; h < 2; ++h)
      q[h][i] = quick_requantized<kSmall>(sum[j * 4 + h * 2 + i % 2], terms.rows[h], column, largest);
  }
}

/// Transposes among the four lanes of a row: lane i gets word i from each. `pairs` holds two bits of each of
/// four words in every byte, and a word the pairs of lanes 0 to 3 in every byte.
__device__ __forceinline__ uint32_t exchange_pairs(uint32_t pairs) {
  const unsigned lane = threadIdx.x;
  const auto swap = [&](unsigned other, uint32_t low, int shift) {
    const uint32_t partner = __shfl_xor_sync(0xffffffffu, pairs, static_cast<int>(other));
    pairs = (lane & other) != 0 ? (pairs & ~low) | (partner >> shift & low)
                                : (pairs & low) | (partner << shift & ~low);
  };
  swap(1, 0x33333333u, 2);
  swap(2, 0x0f0f0f0fu, 4);
  return pairs;
}

/// Lane i of a row's four lanes holds the words i and i + 4.
template <int kN>
struct LaneWords {
  static constexpr int kWords = kN / 32, kGroups = (kWords + 3) / 4;
  uint8_t* addresses[2][kGroups];
  uint32_t mask[kGroups];

  __device__ __forceinline__ LaneWords(const Arguments& args, const Tile& tile, const Fragment& fragment) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int word = g * 4 + fragment.in_tile / 2, first = tile.column * kN + word * 32,
                count = word < kWords ? args.b.outer - first : 0;
      mask[g] = count >= 32 ? 0xffffffffu : count <= 0 ? 0u : (1u << count) - 1;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = fragment.first_row + h * 8;
        addresses[h][g] = row < args.a.outer && count > 0
                              ? args.result.planes + bit_place(args.result.step_bytes, row, first)
                              : nullptr;
      }
    }
  }
  __device__ __forceinline__ void write(int h, int g, int64_t plane, uint32_t word) const {
    if (addresses[h][g] != nullptr) *reinterpret_cast<uint32_t*>(addresses[h][g] + plane) = word;
  }
};

/// Each of a row's four lanes has eight columns of a word of 32. All numbers are first kept as bytes, so that
/// the loop over planes is short: unrolled per number and plane, instruction fetch took longer than the
/// products.
template <int kN, bool kSmall, int kSums>
__device__ __forceinline__ void leave_bits(const Arguments& args, const Tile& tile, const BitColumn* columns,
                                           const EndTerms<Ending::bits>& terms, const int32_t (&sum)[kSums]) {
  constexpr int kWords = kN / 32, kGroups = (kWords + 3) / 4;
  const Fragment fragment = fragment_of_thread<kN>(tile);
  const BitResult& result = args.result;
  const auto largest = static_cast<float>(result.largest);
  uint32_t bytes[2][kWords][2];  // of the rows, even and odd columns
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    uint32_t q[2][8];
    requantize_word<kSmall>(w, fragment, columns, terms, sum, largest, q);
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int odd = 0; odd < 2; ++odd)
        bytes[h][w][odd] = __byte_perm(__byte_perm(q[h][odd], q[h][odd + 2], 0x0040),
                                       __byte_perm(q[h][odd + 4], q[h][odd + 6], 0x0040), 0x5410);
  }
  const LaneWords<kN> words(args, tile, fragment);
  int total[2] = {};
#pragma unroll 1
  for (int p = 0; p < result.bits; ++p)
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        uint32_t pairs = 0;
#pragma unroll
        for (int w = g * 4; w < g * 4 + 4 && w < kWords; ++w)
          pairs |= ((bytes[h][w][0] >> p & 0x01010101u) | (bytes[h][w][1] >> p & 0x01010101u) << 1)
                   << (w % 4 * 2);
        const uint32_t word = exchange_pairs(pairs) & words.mask[g];
        total[h] += __popc(word) << p;
        words.write(h, g, p * result.plane_bytes, word);
      }
  add_sums(args, fragment, total);
}

/// One bit by thresholds: three instructions per number instead of twelve for requantizing.
template <int kN, int kSums>
__device__ __forceinline__ void leave_bits_by_threshold(const Arguments& args, const Tile& tile,
                                                        const Thresholds<kN>& thresholds,
                                                        const int32_t (&rest)[2],
                                                        const int32_t (&sum)[kSums]) {
  static_assert(kN % 128 == 0);
  const Fragment fragment = fragment_of_thread<kN>(tile);
  const LaneWords<kN> words(args, tile, fragment);
  int total[2] = {};
#pragma unroll
  for (int g = 0; g < LaneWords<kN>::kGroups; ++g) {
    uint32_t pairs[2] = {};
#pragma unroll
    for (int j = 3; j >= 0; --j)
#pragma unroll
      for (int w = g * 4 + 3; w >= g * 4; --w) {
        const int i = w * 4 + j;
        const int2 least = *reinterpret_cast<const int2*>(thresholds.least + fragment.in_tile + i * 8);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const auto add = [&](int32_t bound, int32_t value) {  // the sign of bound - rest - 4 sum
            const auto below = static_cast<uint32_t>(bound - rest[h] - 4 * value);
            pairs[h] = __funnelshift_l(below, pairs[h], 1);
          };
          add(least.y, sum[i * 4 + h * 2 + 1]);
          add(least.x, sum[i * 4 + h * 2]);
        }
      }
    const uint32_t inverted = thresholds.inverted[g * 4 + fragment.in_tile / 2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const uint32_t word = (exchange_pairs(pairs[h]) ^ inverted) & words.mask[g];
      total[h] += __popc(word);
      words.write(h, g, 0, word);
    }
  }
  add_sums(args, fragment, total);
}

/// Transposes among the four lanes of a row: lane i gets the byte pairs i of each, in lane order; `bytes`
/// holds the pairs 0 and 1, then 2 and 3.
__device__ __forceinline__ uint2 exchange_bytes(uint2 bytes) {
  const bool odd = (threadIdx.x & 1) != 0, high = (threadIdx.x & 2) != 0;
  const uint32_t mine = high ? bytes.y : bytes.x,
                 other = __shfl_xor_sync(0xffffffffu, high ? bytes.x : bytes.y, 2);
  const uint32_t kept = __byte_perm(mine, other, odd ? 0x7632 : 0x5410),
                 partner = __shfl_xor_sync(0xffffffffu, __byte_perm(mine, other, odd ? 0x5410 : 0x7632), 1);
  const uint32_t low = __byte_perm(kept, partner, odd ? 0x1054 : 0x5410),
                 top = __byte_perm(kept, partner, odd ? 0x3276 : 0x7632);
  return high ? uint2{top, low} : uint2{low, top};
}

/// Bytes of rows, or of a BitTensor of bytes with its sums: eight columns per lane.
template <int kN, bool kSmall, int kSums>
__device__ __forceinline__ void leave_bytes(const Arguments& args, const Tile& tile, const BitColumn* columns,
                                            const EndTerms<Ending::bits>& terms,
                                            const int32_t (&sum)[kSums]) {
  const Fragment fragment = fragment_of_thread<kN>(tile);
  const BitResult& result = args.result;
  const auto largest = static_cast<float>(result.largest);
  int total[2] = {};
#pragma unroll
  for (int w = 0; w < kN / 32; ++w) {
    uint32_t q[2][8];
    requantize_word<kSmall>(w, fragment, columns, terms, sum, largest, q);
    const int column = tile.column * kN + w * 32 + fragment.in_tile * 4, count = args.b.outer - column;
    const uint64_t mask = count >= 8 ? ~uint64_t{0} : count <= 0 ? 0 : (uint64_t{1} << count * 8) - 1;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const auto four = [&](int i) {
        return __byte_perm(__byte_perm(q[h][i], q[h][i + 1], 0x0040),
                           __byte_perm(q[h][i + 2], q[h][i + 3], 0x0040), 0x5410);
      };
      uint2 bytes = exchange_bytes({four(0), four(4)});
      bytes.x &= static_cast<uint32_t>(mask);
      bytes.y &= static_cast<uint32_t>(mask >> 32);
      total[h] = static_cast<int>(
          __dp4a(bytes.x, 0x01010101u, __dp4a(bytes.y, 0x01010101u, static_cast<uint32_t>(total[h]))));
      const int row = fragment.first_row + h * 8;
      if (row >= args.a.outer || count <= 0) continue;
      if (result.halves())
        *reinterpret_cast<uint32_t*>(result.byte_at(row, column)) =
            __byte_perm(bytes.x | bytes.x >> 4, bytes.y | bytes.y >> 4, 0x6420);
      else
        *reinterpret_cast<uint2*>(result.byte_at(row, column)) = bytes;
    }
  }
  if (result.sums != nullptr) add_sums(args, fragment, total);
}

}  // namespace

}  // namespace adj::kernels::cuda
