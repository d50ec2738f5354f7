// Sums of gathered rows of bytes. A warp has a row of the structure and kLanes lanes, of kVector bytes each,
// for a row of bytes, so that it gathers 32 / kLanes of them at a time; four bytes are added as two pairs of
// 16 bits, as often as these hold. Sums are whole numbers: any order gives the same.
//
// Bytes: a row of x for each entry, from L2; the planes of the result.

#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/bits/byte_sums.h>
#include <adjoint/kernels/bits/cuda/bit_pack.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr unsigned kAllLanes = 0xffffffffu;

__global__ void __launch_bounds__(kThreads)
    pack(const float* x, int64_t n, const float* scale, const float* zero, int largest, uint8_t* to) {
  adj::cuda::begin_overlapping();
  const int64_t at = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * 4;
  for (int64_t i = at; i < min(at + 4, n); ++i)
    to[i] = static_cast<uint8_t>(quantized(x[i], *scale, *zero, largest));
}

struct Arguments {
  const int64_t* offsets;
  const int32_t* indices;
  int64_t rows;
  int width;
  const uint8_t* x;
  const float *x_scale, *x_zero, *row_scale, *column_scale, *column_shift;
  uint8_t* planes;
  bool bytes;
  int64_t plane_bytes, step_bytes;
  int bits, largest;
  PerRow scale, zero;
  int32_t* sums;
};

/// The sums of a lane's bytes over entries begin, begin + step, …; `there`: has it any?
template <int kVector, class Sum>
__device__ __forceinline__ void add_rows(const Arguments& args, int64_t begin, int64_t end, int step,
                                         int feature, bool there, Sum (&sum)[kVector]) {
  constexpr int kFit = 256;  // bytes in 16 bits
  for (int64_t first = begin; first < end; first += int64_t{step} * kFit) {
    const int64_t last = min(end, first + int64_t{step} * kFit);
    uint32_t even = 0, odd = 0;
#pragma unroll 4
    for (int64_t e = first; e < last; e += step) {
      const uint8_t* const row = args.x + int64_t{__ldg(args.indices + e)} * args.width + feature;
      if constexpr (kVector == 4) {
        const uint32_t word = there ? __ldg(reinterpret_cast<const uint32_t*>(row)) : 0;
        even += word & 0x00ff00ffu;
        odd += word >> 8 & 0x00ff00ffu;
      } else {
        even += there ? __ldg(row) : 0;
      }
    }
    if constexpr (kVector == 4) {
      sum[0] += even & 0xffffu;
      sum[1] += odd & 0xffffu;
      sum[2] += even >> 16;
      sum[3] += odd >> 16;
    } else {
      sum[0] += even;
    }
  }
}

/// Likewise over all entries of a row, by the groups of a warp, as float32.
template <int kLanes, int kVector, class Sum>
__device__ __forceinline__ void sum_row(const Arguments& args, int64_t begin, int64_t end, int feature,
                                        bool there, float (&to)[kVector]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Sum sum[kVector] = {};
  add_rows<kVector>(args, begin + lane / kLanes, end, 32 / kLanes, feature, there, sum);
#pragma unroll
  for (int v = 0; v < kVector; ++v) {
#pragma unroll
    for (int step = kLanes; step < 32; step *= 2) sum[v] += __shfl_xor_sync(kAllLanes, sum[v], step);
    to[v] = static_cast<float>(sum[v]);
  }
}

template <int kLanes, int kVector>
__global__ void __launch_bounds__(kThreads) sum_bytes(const __grid_constant__ Arguments args) {
  adj::cuda::begin_overlapping();
  const int64_t row = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (row >= args.rows) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int feature = (static_cast<int>(blockIdx.y) * kLanes + lane % kLanes) * kVector;
  const bool there = feature < args.width;
  const int64_t begin = args.offsets[row], end = args.offsets[row + 1];
  float sum[kVector];
  if (end - begin <= kMostByteSums)
    sum_row<kLanes, kVector, int32_t>(args, begin, end, feature, there, sum);
  else
    sum_row<kLanes, kVector, long long>(args, begin, end, feature, there, sum);

  const BitRow of_row = byte_sum_row(end - begin, args.row_scale != nullptr ? args.row_scale[row] : 1.0f,
                                     args.scale.at(row), args.zero.at(row));
  const float x_scale = *args.x_scale, x_zero = *args.x_zero;
  int q[kVector], total = 0;
#pragma unroll
  for (int v = 0; v < kVector; ++v) {
    q[v] = 0;
    if (there) {
      const BitColumn column =
          byte_sum_column(x_scale, x_zero, args.column_scale, args.column_shift, feature + v);
      q[v] = held_integer(requantized_unrounded(sum[v], of_row, column), args.largest);
    }
    total += q[v];
  }
  if (args.bytes) {
    uint32_t word = 0;
#pragma unroll
    for (int v = 0; v < kVector; ++v) word |= static_cast<uint32_t>(q[v]) << (v * 8);
    // The groups of a warp have the same sums. The first one writes them, the others the zeros behind a row
    // that one group holds: 128 bytes are 32 lanes of four.
    const int at = kVector == 4 ? static_cast<int>(blockIdx.y) * kLanes * 4 + lane * 4 : feature;
    uint8_t* const to = args.planes + byte_place(args.step_bytes, row, at);
    if constexpr (kVector == 4) {
      if (lane < kLanes || gridDim.y == 1) *reinterpret_cast<uint32_t*>(to) = lane < kLanes ? word : 0;
    } else if (there) {
      *to = static_cast<uint8_t>(word);
    }
  }
  constexpr int kSharers = kLanes < 32 / kVector ? kLanes : 32 / kVector;  // lanes with bits of one word
  for (int p = 0; p < (args.bytes ? 0 : args.bits); ++p) {
    uint32_t word = 0;
#pragma unroll
    for (int v = 0; v < kVector; ++v) word |= static_cast<uint32_t>(q[v] >> p & 1) << v;
    word <<= feature % 32;
#pragma unroll
    for (int step = 1; step < kSharers; step *= 2) word |= __shfl_xor_sync(kAllLanes, word, step);
    if (lane < kLanes && lane % kSharers == 0 && there)
      *reinterpret_cast<uint32_t*>(args.planes + p * args.plane_bytes +
                                   bit_place(args.step_bytes, row, feature / 32 * 32)) = word;
  }
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) total += __shfl_xor_sync(kAllLanes, total, step);
  if (lane > 0) return;
  if (gridDim.y == 1)
    args.sums[row] = total;
  else
    atomicAdd(args.sums + row, total);
}

template <int kLanes, int kVector>
void run(Device device, const Arguments& args) {
  adj::cuda::launch("sum_bytes_to_bits",
                    {.device = device.index,
                     .blocks = dim3(static_cast<unsigned>(ceil_div(args.rows, int64_t{kThreads / 32})),
                                    static_cast<unsigned>(ceil_div(args.width, kLanes * kVector))),
                     .threads = kThreads,
                     .overlaps = true},
                    sum_bytes<kLanes, kVector>, args);
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
                    pack, args.x.data<float>(), n, args.to.scale.data<float>(), args.to.zero.data<float>(),
                    args.to.largest(), args.to.bytes.mutable_data<uint8_t>());
}

void sum_bytes_to_bits(const SumBytesToBitsArgs& args) {
  BitTensor& to = args.to;
  // Rows of bytes that one block writes are written whole, and so are their sums.
  const bool whole = to.bytes && to.inner % 4 == 0 && to.inner <= BitTensor::kRowBytes;
  if (!whole)
    clear_bits(to, to.inner % to.step_numbers() != 0 || (!to.bytes && to.outer % BitTensor::kRowGroup != 0));
  if (to.outer == 0 || to.inner == 0) return;
  const Arguments a{.offsets = args.a.offsets.data<int64_t>(),
                    .indices = args.a.indices.data<int32_t>(),
                    .rows = args.a.rows,
                    .width = static_cast<int>(to.inner),
                    .x = args.x.bytes.data<uint8_t>(),
                    .x_scale = args.x.scale.data<float>(),
                    .x_zero = args.x.zero.data<float>(),
                    .row_scale = BitResult::numbers_of(args.row_scale),
                    .column_scale = BitResult::numbers_of(args.column_scale),
                    .column_shift = BitResult::numbers_of(args.column_shift),
                    .planes = to.planes.mutable_data<uint8_t>(),
                    .bytes = to.bytes,
                    .plane_bytes = to.plane_bytes(),
                    .step_bytes = to.step_bytes(),
                    .bits = to.bits,
                    .largest = to.largest(),
                    .scale = PerRow(to.scale),
                    .zero = PerRow(to.zero),
                    .sums = to.sums.mutable_data<int32_t>()};
  const Device device = args.device();
  if (a.width % 4 != 0) return run<32, 1>(device, a);
  a.width <= 16   ? run<4, 4>(device, a)
  : a.width <= 32 ? run<8, 4>(device, a)
  : a.width <= 64 ? run<16, 4>(device, a)
                  : run<32, 4>(device, a);
}

}  // namespace adj::kernels::cuda
