// Sums of gathered rows of bytes or half bytes. kLanes lanes read a row, 16 bytes each, and kShare such
// groups share the entries of a row of the structure: four or eight lanes, a warp if there are few rows, or a
// block, in a concurrent kernel, for a row of more than kChunk entries. The row order gives a warp rows of
// similar length. Bytes are added as pairs of 16 bits, which hold kChunk entries; half bytes first as bytes,
// for the loads in flight. Integer sums: the order does not matter.
//
// Bytes: one row of x per entry, from L2 (5.5 TB/s) or beyond; the rows of the result. 32,653 rows of 31
// entries, 100 numbers of 4 bits, on an H200: one warp per row took 38 us, 450 instructions per row, most of
// them for the reduction over lanes; separate groups of lanes 23.5, at L2's rate; with half bytes 16.5.

#include <adjoint/core/cuda/beside.cuh>
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/bits/byte_sums.h>
#include <adjoint/kernels/bits/cuda/bit_product.h>
#include <adjoint/kernels/bits/cuda/requantize.cuh>
#include <adjoint/kernels/cuda/launch.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kLongThreads = 512, kLongWarps = kLongThreads / 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kChunk = 256;  // entries whose byte sums fit in 16 bits
static_assert(kChunk == RowOrder::kMost);
constexpr int kLeastRows = 96;  // per SM; with fewer, each row gets a warp

struct Arguments {
  const int32_t* indices;
  const RowOrder::Row* order;  ///< long ones first
  int64_t long_rows, rows;     ///< rows: the other ones
  bool overlap;                ///< does a kernel for long rows run concurrently?
  int width, pitch;
  const uint8_t* x;
  const float *x_scale, *x_zero, *row_scale, *column_scale, *column_shift;
  uint8_t* output;
  int64_t step_bytes;
  int largest;
  PerRow scale, zero;
  int32_t* sums;
};

/// A lane of the kLanes kShare that sum a row.
template <int kLanesOf, int kShareOf, bool kHalvesOf>
struct Place {
  static constexpr int kLanes = kLanesOf, kShare = kShareOf, kOfRow = kLanes * kShare;
  static constexpr bool kHalves = kHalvesOf;
  static constexpr int kNumbers = kHalves ? 32 : 16;  ///< read per lane and row
  static constexpr int kColumns = kLanes * kNumbers;  ///< per pass
  /// Of the four words that a lane reads it ends up owning the sums of kOwnWords; kAlike lanes own the same.
  static constexpr int kOwnWords = kShare >= 4 ? 1 : 4 / kShare, kAlike = kShare * kOwnWords / 4;
  static constexpr int kWordPairs = kNumbers / 8;  ///< of 16-bit sums
  static constexpr int kOwnNumbers = kOwnWords * kNumbers / 4;

  int lane = static_cast<int>(threadIdx.x) % kOfRow, of_row = lane % kLanes, share = lane / kLanes;
  int own_column = of_row * kNumbers + share / kAlike * kOwnNumbers;
  bool first_alike = share % kAlike == 0;
};

/// Sums of a lane's columns, by words: of a word of bytes numbers 0 and 2, then 1 and 3; of a word of half
/// bytes numbers 0 and 4, 2 and 6, 1 and 5, 3 and 7.
template <class P>
struct Pairs {
  static constexpr int kPairs = 4 * P::kWordPairs;
  uint32_t pair[kPairs] = {};

  static __device__ __forceinline__ void add_bytes(uint32_t* sums, uint32_t bytes) {
    sums[0] += bytes & 0x00ff00ffu;
    sums[1] += bytes >> 8 & 0x00ff00ffu;
  }
  template <int kSome>
  __device__ __forceinline__ void add(const uint4 (&words)[kSome]) {
    static_assert(kSome * 15 < 256);
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      uint32_t even = 0, odd = 0;
#pragma unroll
      for (int i = 0; i < kSome; ++i) {
        const uint32_t word = w == 0 ? words[i].x : w == 1 ? words[i].y : w == 2 ? words[i].z : words[i].w;
        if constexpr (P::kHalves) {
          even += word & 0x0f0f0f0fu;
          odd += word >> 4 & 0x0f0f0f0fu;
        } else {
          add_bytes(pair + w * 2, word);
        }
      }
      if constexpr (P::kHalves) {
        add_bytes(pair + w * 4, even);
        add_bytes(pair + w * 4 + 2, odd);
      }
    }
  }
  /// Reduces over the lanes of a row, leaving each lane its own words: lanes kStep apart keep half of the
  /// kKept pairs each, or all of them.
  template <int kStep = P::kOfRow / 2, int kKept = kPairs>
  __device__ __forceinline__ void share_out() {
    if constexpr (kStep >= P::kLanes) {
      constexpr bool kHalve = kKept > P::kOwnWords * P::kWordPairs;
      constexpr int kLeft = kHalve ? kKept / 2 : kKept;
      const bool high = (threadIdx.x & static_cast<unsigned>(kStep)) != 0;
#pragma unroll
      for (int i = 0; i < kLeft; ++i) {
        uint32_t message = pair[i];
        if constexpr (kHalve) {
          message = high ? pair[i] : pair[i + kLeft];
          pair[i] = high ? pair[i + kLeft] : pair[i];
        }
        pair[i] += __shfl_xor_sync(kAllLanes, message, kStep);
      }
      share_out<kStep / 2, kLeft>();
    }
  }
  /// Calls f(i, sums of the lane's own columns i to i + 3).
  template <class F>
  __device__ __forceinline__ void for_each_four(F&& f) const {
#pragma unroll
    for (int w = 0; w < P::kOwnWords; ++w) {
      const uint32_t* const word = pair + w * P::kWordPairs;
      if constexpr (P::kHalves) {
        f(w * 8, uint4{word[0] & 0xffffu, word[2] & 0xffffu, word[1] & 0xffffu, word[3] & 0xffffu});
        f(w * 8 + 4, uint4{word[0] >> 16, word[2] >> 16, word[1] >> 16, word[3] >> 16});
      } else {
        f(w * 4, uint4{word[0] & 0xffffu, word[1] & 0xffffu, word[0] >> 16, word[1] >> 16});
      }
    }
  }
};

/// Sums of `count` entries, at most kChunk, from `begin` on, for one pass of columns, as the lane's own
/// words.
template <class P, int kCount>
__device__ __forceinline__ Pairs<P> gather(const Arguments& args, const P& place, int64_t begin, int count,
                                           int pass) {
  const int offset = (pass * P::kLanes + place.of_row) * 16;
  const uint8_t* x = args.x + offset;
  const int32_t* indices = args.indices + begin + place.share;
  int pitch = args.pitch;
  asm("" : "+l"(x), "+l"(indices), "+r"(pitch));  // kept in registers: else recomputed per entry
  if (offset >= pitch) count = 0;
  Pairs<P> pairs;
  for (int left = count - place.share; left > 0; left -= kCount * P::kShare) {
    uint4 words[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      words[i] = {};
      if (i * P::kShare < left)
        words[i] = __ldg(reinterpret_cast<const uint4*>(x + int64_t{__ldg(indices + i * P::kShare)} * pitch));
    }
    indices += kCount * P::kShare;
    pairs.add(words);
  }
  pairs.share_out();
  return pairs;
}

__device__ __forceinline__ BitRow row_of(const Arguments& args, int64_t row, int64_t entries) {
  return byte_sum_row(entries, args.row_scale != nullptr ? args.row_scale[row] : 1.0f, args.scale.at(row),
                      args.zero.at(row));
}

/// q of four columns from `first` on, as bytes; 0 beyond the last one. kPlain: no scales or shifts by column.
template <bool kSmall, bool kPlain, class Sums>
__device__ __forceinline__ uint32_t requantize_four(const Arguments& args, const BitRow& of_row, int first,
                                                    const Sums& sums) {
  const float x_scale = __ldg(args.x_scale), x_zero = __ldg(args.x_zero);
  const auto q = [&](auto sum, int v) {
    const BitColumn column =
        byte_sum_column(x_scale, x_zero, kPlain ? nullptr : args.column_scale,
                        kPlain ? nullptr : args.column_shift, min(first + v, args.width - 1));
    return quick_requantized<kSmall>(sum, of_row, column, static_cast<float>(args.largest));
  };
  const uint32_t bytes = __byte_perm(__byte_perm(q(sums.x, 0), q(sums.y, 1), 0x0040),
                                     __byte_perm(q(sums.z, 2), q(sums.w, 3), 0x0040), 0x5410);
  const int count = args.width - first;
  return count >= 4 ? bytes : count <= 0 ? 0u : bytes & ((1u << count * 8) - 1);
}

/// Writes the lane's own columns of a pass, with fours(i) giving columns i to i + 3, and its share of the
/// zeros behind the row; returns the sum of the written numbers.
template <class P, class F>
__device__ __forceinline__ int leave(const Arguments& args, const P& place, int64_t row, int pass,
                                     F&& fours) {
  const int first = pass * P::kColumns + place.own_column, padded = (args.width + 127) / 128 * 128;
  const auto address = [&](int column) { return args.output + byte_place(args.step_bytes, row, column); };
  uint32_t total = 0, bytes[P::kOwnNumbers / 4];
#pragma unroll
  for (int i = 0; i < P::kOwnNumbers / 4; ++i) {
    bytes[i] = fours(i, first + i * 4);
    total = __dp4a(bytes[i], 0x01010101u, total);
  }
  if (P::kColumns < 128)
    for (int chunk = P::kColumns / 16 + place.lane; chunk < 8; chunk += P::kOfRow)
      *reinterpret_cast<uint4*>(address(chunk * 16)) = {};
  if (!place.first_alike || first >= padded) return 0;
  if constexpr (P::kOwnNumbers == 4) {
    *reinterpret_cast<uint32_t*>(address(first)) = bytes[0];
  } else if constexpr (P::kOwnNumbers == 8) {
    *reinterpret_cast<uint2*>(address(first)) = {bytes[0], bytes[1]};
  } else {
#pragma unroll
    for (int i = 0; i < P::kOwnNumbers; i += 16)
      *reinterpret_cast<uint4*>(address(first + i)) = {bytes[i / 4], bytes[i / 4 + 1], bytes[i / 4 + 2],
                                                       bytes[i / 4 + 3]};
  }
  return static_cast<int>(total);
}

template <class P>
__device__ __forceinline__ void leave_total(const Arguments& args, const P& place, int64_t row, bool valid,
                                            int total) {
#pragma unroll
  for (int step = 1; step < P::kOfRow; step *= 2) total += __shfl_xor_sync(kAllLanes, total, step);
  if (valid && place.lane == 0) args.sums[row] = total;
}

/// A long row, by a block.
template <class P>
__global__ void __launch_bounds__(kLongThreads) sum_long_rows(const __grid_constant__ Arguments args) {
  begin_leading();
  struct Sums {
    unsigned long long x, y, z, w;
  };
  constexpr int kFours = P::kOwnNumbers / 4;
  __shared__ Sums shared[kLongWarps][kFours][32];
  const RowOrder::Row range = args.order[blockIdx.x];
  const int64_t row = range.row, begin = range.begin, end = begin + range.count;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const P place;
  const BitRow of_row = row_of(args, row, end - begin);
  int total = 0;
  for (int pass = 0; pass * P::kColumns < args.width; ++pass) {
    Sums sums[kFours] = {};
    for (int64_t chunk = begin + warp * kChunk; chunk < end; chunk += kLongWarps * kChunk)
      gather<P, 8>(args, place, chunk, static_cast<int>(min(end - chunk, int64_t{kChunk})), pass)
          .for_each_four([&](int i, const uint4& some) {
            Sums& target = sums[i / 4];
            target.x += some.x;
            target.y += some.y;
            target.z += some.z;
            target.w += some.w;
          });
#pragma unroll
    for (int i = 0; i < kFours; ++i) shared[warp][i][place.lane] = sums[i];
    __syncthreads();
    if (warp == 0)
      total += leave(args, place, row, pass, [&](int i, int column) {
        for (int w = 1; w < kLongWarps; ++w) {
          const Sums& more = shared[w][i][place.lane];
          sums[i].x += more.x;
          sums[i].y += more.y;
          sums[i].z += more.z;
          sums[i].w += more.w;
        }
        return requantize_four<false, false>(args, of_row, column, sums[i]);
      });
    __syncthreads();
  }
  if (warp == 0) leave_total(args, place, row, true, total);
}

/// Any other row, by a few lanes or by a warp.
template <class P>
constexpr int kInFlight = P::kShare > 1 ? 4 : 8;  // per lane
template <class P>
__global__ void __launch_bounds__(kThreads, P::kHalves&& kInFlight<P> == 8 ? 3 : 4)
    sum_rows(const __grid_constant__ Arguments args) {
  begin_beside(args.overlap);
  const int64_t number = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / P::kOfRow;
  const bool valid = number < args.rows;
  const P place;
  const RowOrder::Row range = args.order[args.long_rows + min(number, args.rows - 1)];
  const int64_t row = range.row;
  const BitRow of_row = row_of(args, row, range.count);
  int total = 0;
  for (int pass = 0; pass * P::kColumns < args.width; ++pass) {
    const Pairs<P> pairs = gather<P, kInFlight<P>>(args, place, range.begin, valid ? range.count : 0, pass);
    if (!valid) continue;
    uint32_t bytes[P::kOwnNumbers / 4];
    const int first = pass * P::kColumns + place.own_column;
    if (args.column_scale == nullptr && args.column_shift == nullptr)
      pairs.for_each_four([&](int i, const uint4& sums) {
        bytes[i / 4] = requantize_four<true, true>(args, of_row, first + i, sums);
      });
    else
      pairs.for_each_four([&](int i, const uint4& sums) {
        bytes[i / 4] = requantize_four<true, false>(args, of_row, first + i, sums);
      });
    total += leave(args, place, row, pass, [&](int i, int) { return bytes[i]; });
  }
  leave_total(args, place, row, valid, total);
}

template <int kLanes, bool kHalves>
void run(Device device, const Arguments& args) {
  using OfWarp = Place<kLanes, 32 / kLanes, kHalves>;
  using OfLanes = Place < kLanes, kLanes<4 ? 4 / kLanes : 1, kHalves>;
  const auto go = [&](auto kernel, int64_t blocks, int threads) {
    launch("sum_bytes_to_bits", overlapping(device.index, grid(blocks), threads), kernel, args);
  };
  if (args.long_rows > 0) go(sum_long_rows<OfWarp>, args.long_rows, kLongThreads);
  if (args.rows == 0) return;
  if (args.rows < int64_t{kLeastRows} * properties(device.index).multiprocessors)
    go(sum_rows<OfWarp>, ceil_div(args.rows * OfWarp::kOfRow, int64_t{kThreads}), kThreads);
  else
    go(sum_rows<OfLanes>, ceil_div(args.rows * OfLanes::kOfRow, int64_t{kThreads}), kThreads);
}
template <bool kHalves>
void run(Device device, const Arguments& args) {
  args.pitch <= 16   ? run<1, kHalves>(device, args)
  : args.pitch <= 32 ? run<2, kHalves>(device, args)
  : args.pitch <= 64 ? run<4, kHalves>(device, args)
                     : run<8, kHalves>(device, args);
}

}  // namespace

void sum_bytes_to_bits(const SumBytesToBitsArgs& args) {
  BitTensor& output = args.output;
  if (output.inner == 0) clear_bits(output, false);
  if (output.outer == 0 || output.inner == 0) return;
  const int64_t long_rows = args.order.long_rows;
  const Device device = args.x.device();
  const Arguments a{.indices = args.a.indices.data<int32_t>(),
                    .order = reinterpret_cast<const RowOrder::Row*>(args.order.rows.data<int32_t>()),
                    .long_rows = long_rows,
                    .rows = args.a.rows - long_rows,
                    .overlap = long_rows > 0 && properties(device.index).overlapping,
                    .width = static_cast<int>(output.inner),
                    .pitch = static_cast<int>(args.x.pitch()),
                    .x = args.x.bytes.data<uint8_t>(),
                    .x_scale = args.x.scale.data<float>(),
                    .x_zero = args.x.zero.data<float>(),
                    .row_scale = BitResult::numbers_of(args.row_scale),
                    .column_scale = BitResult::numbers_of(args.column_scale),
                    .column_shift = BitResult::numbers_of(args.column_shift),
                    .output = output.planes.mutable_data<uint8_t>(),
                    .step_bytes = output.step_bytes(),
                    .largest = output.largest(),
                    .scale = PerRow(output.scale),
                    .zero = PerRow(output.zero),
                    .sums = output.sums.mutable_data<int32_t>()};
  args.x.halves() ? run<true>(device, a) : run<false>(device, a);
}

}  // namespace adj::kernels::cuda
