// Sums of gathered rows of bytes. kLanes lanes read a row of bytes, 16 each, so that a warp gathers
// 32 / kLanes of them with one instruction, and four bytes are added as two pairs of 16 bits, which hold
// kChunk entries. A warp has a row of the structure; a row of more entries has a block of its own, whose
// warps take chunks in turn, in a kernel beside. Sums are whole numbers: any order gives the same.
//
// Bytes: a row of x for each entry, from L2 or beyond; the rows of the result. What limits is how many of
// these are on their way: 2 KB a warp, so that registers are kept to what lets many warps in.

#include <adjoint/core/cuda/beside.cuh>
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/bits/byte_sums.h>
#include <adjoint/kernels/bits/cuda/bit_pack.h>
#include <adjoint/kernels/bits/cuda/requantize.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kLongThreads = 512, kLongWarps = kLongThreads / 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kChunk = 256;  // entries whose bytes add up to what 16 bits hold
static_assert(kChunk == LongRows::kMost);
constexpr int kColumns = 128;  // of a pass: a step of bytes

__global__ void __launch_bounds__(kThreads)
    pack(const float* x, int64_t n, int64_t width, int64_t pitch, const float* scale, const float* zero,
         int largest, uint8_t* to) {
  adj::cuda::begin_overlapping();
  const int64_t at = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * 4;
  int64_t row = at / width, column = at % width;
  for (int64_t i = at; i < min(at + 4, n); ++i) {
    to[row * pitch + column] = static_cast<uint8_t>(quantized(x[i], *scale, *zero, largest));
    if (++column == width) {
      column = 0;
      ++row;
    }
  }
}

struct Arguments {
  const int64_t* offsets;
  const int32_t *indices, *long_rows;
  int64_t rows;
  bool beside;  ///< does a kernel of long rows run beside?
  int width, pitch;
  const uint8_t* x;
  const float *x_scale, *x_zero, *row_scale, *column_scale, *column_shift;
  uint8_t* to;
  int64_t step_bytes;
  int largest;
  PerRow scale, zero;
  int32_t* sums;
};

/// The bytes of a lane's columns, added up: of each word of four, bytes 0 and 2, then 1 and 3.
struct Pairs {
  uint32_t pair[8] = {};

  __device__ __forceinline__ void add(const uint4& words) {
    const uint32_t word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      pair[w * 2] += word[w] & 0x00ff00ffu;
      pair[w * 2 + 1] += word[w] >> 8 & 0x00ff00ffu;
    }
  }
};

/// Where a lane stands: kLanes lanes have the columns of a pass, 16 each, of an entry each of 32 / kLanes.
template <int kLanes>
struct Place {
  int lane = static_cast<int>(threadIdx.x) % 32, group = lane / kLanes;
  int word =
      lane % kLanes * 4 + lane / 16 * 2 + lane / 8 % 2;  ///< of the columns, whose sums it comes to have
  int copy = lane % 8 / kLanes;                          ///< which of those that could
};

/// The bytes of entry e of a row of `count` entries from `begin` on, for this lane's columns; zeros beyond.
template <int kLanes>
__device__ __forceinline__ uint4 bytes_of(const Arguments& args, int64_t begin, int e, int count, int first) {
  const int at = first + Place<kLanes>().lane % kLanes * 16;
  uint4 words = {};
  if (e < count && at < args.pitch)
    words = __ldg(
        reinterpret_cast<const uint4*>(args.x + int64_t{__ldg(args.indices + begin + e)} * args.pitch + at));
  return words;
}

/// Adds entries from `next` on, every 32 / kLanes.
template <int kLanes, int kInFlight>
__device__ __forceinline__ void gather(const Arguments& args, int64_t begin, int next, int count, int first,
                                       Pairs& to) {
#pragma unroll kInFlight
  for (int e = next; e < count; e += 32 / kLanes) to.add(bytes_of<kLanes>(args, begin, e, count, first));
}

/// The sums of the lane's word in one row of kRows, that of its copy: each of four groups of lanes keeps one
/// word of four, then copies keep a row each, or are alike.
template <int kLanes, int kRows>
__device__ __forceinline__ void share_out(uint32_t (&own)[kRows][2], uint32_t (&sum)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int rows = kRows;
#pragma unroll
  for (int step = 4; step >= kLanes; step /= 2) {
    const bool high = (lane & step) != 0;
    rows /= 2;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int r = 0; r < max(rows, 1); ++r) {
        const uint32_t kept = rows > 0 && high ? own[r + rows][i] : own[r][i],
                       given = rows > 0 && !high ? own[r + rows][i] : own[r][i];
        own[r][i] = kept + __shfl_xor_sync(kAllLanes, given, step);
      }
  }
  sum[0] = own[0][0] & 0xffffu;
  sum[1] = own[0][1] & 0xffffu;
  sum[2] = own[0][0] >> 16;
  sum[3] = own[0][1] >> 16;
}
__device__ __forceinline__ void keep_word(const Pairs& pairs, uint32_t (&own)[2]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool high = (lane & 16) != 0, odd = (lane & 8) != 0;
  uint32_t half[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    half[i] = (high ? pairs.pair[i + 4] : pairs.pair[i]) +
              __shfl_xor_sync(kAllLanes, high ? pairs.pair[i] : pairs.pair[i + 4], 16);
#pragma unroll
  for (int i = 0; i < 2; ++i)
    own[i] = (odd ? half[i + 2] : half[i]) + __shfl_xor_sync(kAllLanes, odd ? half[i] : half[i + 2], 8);
}

__device__ __forceinline__ BitRow row_of(const Arguments& args, int64_t row, int64_t entries) {
  return byte_sum_row(entries, args.row_scale != nullptr ? args.row_scale[row] : 1.0f, args.scale.at(row),
                      args.zero.at(row));
}

/// Writes the lane's word of a row's columns from `first` on, and its share of the zeros behind them; returns
/// the sum of what the word holds. A warp has kRows rows.
template <int kLanes, int kRows, bool kSmall, class Sum>
__device__ __forceinline__ int leave_word(const Arguments& args, const BitRow& of_row, int64_t row, int first,
                                          const Sum (&sum)[4]) {
  const Place<kLanes> place;
  const int alike = place.copy % (8 / kLanes / kRows), there = args.width - first - place.word * 4;
  uint32_t q[4];
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    const BitColumn column =
        byte_sum_column(*args.x_scale, *args.x_zero, args.column_scale, args.column_shift,
                        min(first + place.word * 4 + v, args.width - 1));
    q[v] = quick_requantized<kSmall>(sum[v], of_row, column, static_cast<float>(args.largest));
  }
  uint32_t bytes = __byte_perm(__byte_perm(q[0], q[1], 0x0040), __byte_perm(q[2], q[3], 0x0040), 0x5410);
  if (there < 4) bytes &= there <= 0 ? 0u : (1u << there * 8) - 1;
  if (alike > 0) bytes = 0;
#pragma unroll
  for (int c = 0; c < kRows; ++c)
    *reinterpret_cast<uint32_t*>(
        args.to +
        byte_place(args.step_bytes, row, first + (place.word + (alike * kRows + c) * kLanes * 4) * 4)) =
        c == 0 ? bytes : 0u;
  return static_cast<int>(__dp4a(bytes, 0x01010101u, 0u));
}

/// Adds up what the lanes of a row have of its sum. A warp has kRows rows.
template <int kLanes, int kRows>
__device__ __forceinline__ void leave_total(const Arguments& args, int64_t row, bool there, int total) {
  constexpr int kSame = 32 - 8 + 8 / kRows - 1;  // bits of a lane's number in which those of a row differ
#pragma unroll
  for (int step = 1; step < 32; step *= 2)
    if ((kSame & step) != 0) total += __shfl_xor_sync(kAllLanes, total, step);
  if ((threadIdx.x % 32 & kSame) == 0 && there) args.sums[row] = total;
}

/// A long row, by a block.
template <int kLanes>
__global__ void __launch_bounds__(kLongThreads) sum_long_rows(const __grid_constant__ Arguments args) {
  adj::cuda::begin_leading();
  __shared__ unsigned long long shared[kLongWarps][32][4];
  const int64_t row = args.long_rows[blockIdx.x], begin = args.offsets[row], end = args.offsets[row + 1];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const Place<kLanes> place;
  int total = 0;
  for (int first = 0; first < args.width; first += kColumns) {
    unsigned long long sum[4] = {};
    for (int64_t chunk = begin + warp * kChunk; chunk < end; chunk += kLongWarps * kChunk) {
      Pairs pairs;
      gather<kLanes, 8>(args, chunk, place.group, static_cast<int>(min(end - chunk, int64_t{kChunk})), first,
                        pairs);
      uint32_t own[1][2], part[4];
      keep_word(pairs, own[0]);
      share_out<kLanes, 1>(own, part);
#pragma unroll
      for (int v = 0; v < 4; ++v) sum[v] += part[v];
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) shared[warp][place.lane][v] = sum[v];
    __syncthreads();
    if (warp == 0) {
      for (int w = 1; w < kLongWarps; ++w)
#pragma unroll
        for (int v = 0; v < 4; ++v) sum[v] += shared[w][place.lane][v];
      total += leave_word<kLanes, 1, false>(args, row_of(args, row, end - begin), row, first, sum);
    }
    __syncthreads();
  }
  if (warp == 0) leave_total<kLanes, 1>(args, row, true, total);
}

/// kRows other rows, by a warp. The first entries of all rows are on their way at once.
template <int kLanes, int kRows>
__global__ void __launch_bounds__(kThreads, kRows > 2 || kLanes == 8 ? 4 : 5)
    sum_rows(const __grid_constant__ Arguments args) {
  adj::cuda::begin_beside(args.beside);
  const int64_t first_row = (int64_t{blockIdx.x} * kWarps + threadIdx.x / 32) * kRows;
  if (first_row >= args.rows) return;
  const Place<kLanes> place;
  const int64_t offset = args.offsets[min(first_row + min(place.lane, kRows), args.rows)];
  const auto entries_of = [&](int r) {
    return __shfl_sync(kAllLanes, offset, r + 1) - __shfl_sync(kAllLanes, offset, r);
  };
  const int own_row = place.copy / (8 / kLanes / kRows);
  const int64_t row = first_row + own_row, entries = entries_of(own_row);
  const bool there = row < args.rows && entries <= kChunk;
  const BitRow of_row = row_of(args, min(row, args.rows - 1), entries);
  int total = 0;
  for (int first = 0; first < args.width; first += kColumns) {
    uint32_t own[kRows][2], sum[4];
    constexpr int kAtOnce = kRows < 4 ? kRows : 4;
#pragma unroll
    for (int some = 0; some < kRows; some += kAtOnce) {
      int count[kAtOnce];
      uint4 words[kAtOnce];
#pragma unroll
      for (int r = 0; r < kAtOnce; ++r) {
        const int64_t all = entries_of(some + r);
        count[r] = all <= kChunk ? static_cast<int>(all) : 0;
        if constexpr (kRows > 1)
          words[r] =
              bytes_of<kLanes>(args, __shfl_sync(kAllLanes, offset, some + r), place.group, count[r], first);
      }
#pragma unroll
      for (int r = 0; r < kAtOnce; ++r) {
        Pairs pairs;
        if constexpr (kRows > 1) pairs.add(words[r]);
        gather<kLanes, 4>(args, __shfl_sync(kAllLanes, offset, some + r),
                          place.group + (kRows > 1 ? 32 / kLanes : 0), count[r], first, pairs);
        keep_word(pairs, own[some + r]);
      }
    }
    share_out<kLanes, kRows>(own, sum);
    if (there) total += leave_word<kLanes, kRows, true>(args, of_row, row, first, sum);
  }
  leave_total<kLanes, kRows>(args, row, there, total);
}

template <int kLanes, int kRows>
void run_rows(Device device, const Arguments& args) {
  adj::cuda::launch("sum_bytes_to_bits",
                    {.device = device.index,
                     .blocks = static_cast<unsigned>(ceil_div(args.rows, int64_t{kWarps * kRows})),
                     .threads = kThreads,
                     .overlaps = true},
                    sum_rows<kLanes, kRows>, args);
}

template <int kLanes>
void run(Device device, const Arguments& args, int64_t long_rows) {
  if (long_rows > 0)
    adj::cuda::launch("sum_bytes_to_bits",
                      {.device = device.index,
                       .blocks = static_cast<unsigned>(long_rows),
                       .threads = kLongThreads,
                       .overlaps = true},
                      sum_long_rows<kLanes>, args);
  // Several rows share the end of a warp's work, once there are enough of them to fill the device.
  constexpr int kRows = 8 / kLanes;
  const int64_t warps = int64_t{16} * adj::cuda::properties(device.index).multiprocessors;
  args.rows >= warps* kRows ? run_rows<kLanes, kRows>(device, args) : run_rows<kLanes, 1>(device, args);
}

}  // namespace

void pack_bytes(const PackBytesArgs& args) {
  const int64_t n = args.x.numel();
  if (n == 0) return;
  adj::cuda::launch("pack_bytes",
                    {.device = args.device().index,
                     .blocks = static_cast<unsigned>(ceil_div(n, int64_t{4 * kThreads})),
                     .threads = kThreads,
                     .overlaps = true},
                    pack, args.x.data<float>(), n, args.to.width, ByteTensor::pitch(args.to.width),
                    args.to.scale.data<float>(), args.to.zero.data<float>(), args.to.largest(),
                    args.to.bytes.mutable_data<uint8_t>());
}

void sum_bytes_to_bits(const SumBytesToBitsArgs& args) {
  BitTensor& to = args.to;
  if (to.inner == 0) clear_bits(to, false);
  if (to.outer == 0 || to.inner == 0) return;
  const int64_t long_rows = args.long_rows.rows.numel();
  const Device device = args.device();
  const Arguments a{.offsets = args.a.offsets.data<int64_t>(),
                    .indices = args.a.indices.data<int32_t>(),
                    .long_rows = args.long_rows.rows.data<int32_t>(),
                    .rows = args.a.rows,
                    .beside = long_rows > 0 && adj::cuda::properties(device.index).overlapping,
                    .width = static_cast<int>(to.inner),
                    .pitch = static_cast<int>(ByteTensor::pitch(to.inner)),
                    .x = args.x.bytes.data<uint8_t>(),
                    .x_scale = args.x.scale.data<float>(),
                    .x_zero = args.x.zero.data<float>(),
                    .row_scale = BitResult::numbers_of(args.row_scale),
                    .column_scale = BitResult::numbers_of(args.column_scale),
                    .column_shift = BitResult::numbers_of(args.column_shift),
                    .to = to.planes.mutable_data<uint8_t>(),
                    .step_bytes = to.step_bytes(),
                    .largest = to.largest(),
                    .scale = PerRow(to.scale),
                    .zero = PerRow(to.zero),
                    .sums = to.sums.mutable_data<int32_t>()};
  a.pitch <= 16   ? run<1>(device, a, long_rows)
  : a.pitch <= 32 ? run<2>(device, a, long_rows)
  : a.pitch <= 64 ? run<4>(device, a, long_rows)
                  : run<8>(device, a, long_rows);
}

}  // namespace adj::kernels::cuda
