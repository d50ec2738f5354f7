// Numbers to bit planes and back. A warp takes 32 numbers of a row at a time and votes on each bit: a ballot
// is a word of a plane. Along columns a block first transposes 32 x 32 numbers in shared memory, so that
// accesses to both the matrix and the planes are coalesced.
//
// Bytes: x once, planes once.

#include <adjoint/core/cuda/beside.cuh>
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/bits/cuda/bit_pack.h>
#include <adjoint/kernels/cuda/launch.cuh>

#include <algorithm>

namespace adj::kernels::cuda {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kWords = BitTensor::kStepBits / 32;
constexpr unsigned kAllLanes = 0xffffffffu;

struct Packed {
  uint8_t* planes;
  int64_t plane_bytes, step_bytes, outer, padded_rows, inner;
  int bits, largest;
  PerRow scale, zero;
  int32_t* sums;  ///< zeroed beforehand
};

/// Writes a row's step: lane i has word i of each plane.
__device__ __forceinline__ void write_words(const Packed& to, int64_t row, int64_t step,
                                            const uint32_t (&words)[BitTensor::kMostBits], int lane) {
  const int64_t at = bit_place(to.step_bytes, row, step * BitTensor::kStepBits + lane * 32);
#pragma unroll
  for (int p = 0; p < BitTensor::kMostBits; ++p)
    if (p < to.bits) *reinterpret_cast<uint32_t*>(to.planes + p * to.plane_bytes + at) = words[p];
}

/// Votes on the bits of 32 numbers; lane `word` keeps the words.
__device__ __forceinline__ void vote(const Packed& to, int q, int word, int lane,
                                     uint32_t (&words)[BitTensor::kMostBits]) {
#pragma unroll
  for (int p = 0; p < BitTensor::kMostBits; ++p) {
    if (p >= to.bits) break;
    const uint32_t ballot = __ballot_sync(kAllLanes, (q >> p & 1) != 0);
    if (lane == word) words[p] = ballot;
  }
}

__global__ void __launch_bounds__(kThreads)
    clear(uint4* planes, int64_t words, int32_t* sums, int64_t outer) {
  begin_leading();
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at < words) planes[at] = uint4{};
  if (at < outer) sums[at] = 0;
}

/// x [outer, inner]: one warp per row and step.
__global__ void __launch_bounds__(kThreads) pack_rows(const float* x, Packed to) {
  begin_overlapping();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const BlockPlace block(ceil_div(to.padded_rows, kWarps));
  const int64_t row = block.row * kWarps + threadIdx.x / 32, step = block.column;
  if (row >= to.padded_rows) return;
  const bool is_row = row < to.outer;
  const float scale = is_row ? to.scale.at(row) : 1.0f, zero = is_row ? to.zero.at(row) : 0.0f;
  uint32_t words[BitTensor::kMostBits] = {};
  int sum = 0;
  constexpr int kAtOnce = 8;  // loads in flight per lane
  for (int first = 0; first < kWords; first += kAtOnce) {
    const int64_t k = step * BitTensor::kStepBits + first * 32 + lane;
    float value[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      value[u] = is_row && k + u * 32 < to.inner ? x[row * to.inner + k + u * 32] : 0.0f;
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const bool there = is_row && k + u * 32 < to.inner;
      const int q = there ? quantized(value[u], scale, zero, to.largest) : 0;
      sum += q;
      vote(to, q, first + u, lane, words);
    }
  }
  write_words(to, row, step, words, lane);
  sum = __reduce_add_sync(kAllLanes, sum);
  if (lane == 0 && is_row) atomicAdd(to.sums + row, sum);  // integers: any order
}

/// x [inner, outer]: one block per steps of 32 columns.
__global__ void __launch_bounds__(kThreads) pack_columns(const float* x, Packed to) {
  begin_overlapping();
  constexpr int kColumns = 32 / kWarps;  // per warp
  __shared__ float tile[32][33];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const BlockPlace block(ceil_div(to.padded_rows, 32));
  const int64_t first = block.row * 32, step = block.column;
  float scale[kColumns], zero[kColumns];
  uint32_t words[kColumns][BitTensor::kMostBits] = {};
  int sum[kColumns] = {};
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int64_t column = first + warp * kColumns + c;
    scale[c] = column < to.outer ? to.scale.at(column) : 1.0f;
    zero[c] = column < to.outer ? to.zero.at(column) : 0.0f;
  }
  for (int word = 0; word < kWords; ++word) {
    const int64_t k = step * BitTensor::kStepBits + word * 32;
#pragma unroll
    for (int i = warp; i < 32; i += kWarps)
      tile[i][lane] =
          k + i < to.inner && first + lane < to.outer ? x[(k + i) * to.outer + first + lane] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const bool there = k + lane < to.inner && first + warp * kColumns + c < to.outer;
      const int q = there ? quantized(tile[lane][warp * kColumns + c], scale[c], zero[c], to.largest) : 0;
      sum[c] += q;
      vote(to, q, word, lane, words[c]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int64_t column = first + warp * kColumns + c;
    if (column < to.padded_rows) write_words(to, column, step, words[c], lane);
    sum[c] = __reduce_add_sync(kAllLanes, sum[c]);
    if (lane == 0 && column < to.outer) atomicAdd(to.sums + column, sum[c]);
  }
}

}  // namespace

void clear_bits(BitTensor& to, bool planes) {
  const int64_t words = planes ? to.planes.numel() / 16 : 0, n = std::max(words, to.outer);
  launch("bit_tensor", over(to.device().index, n), clear,
         planes ? static_cast<uint4*>(to.planes.raw_mutable_data()) : nullptr, words,
         to.sums.mutable_data<int32_t>(), to.outer);
}

void expand_bits(const ExpandBitsArgs& args) {
  const int64_t chunks = args.output.steps() * 8, rows = args.output.padded_rows();
  if (chunks * rows == 0) return;
  const BitOperand from(args.input);
  auto* to = static_cast<uint4*>(args.output.planes.raw_mutable_data());
  // One thread per 16 numbers of a row: 16 bytes.
  for_each("expand_bits", args.device().index, chunks * rows, [=] __device__(int64_t at) {
    const int64_t chunk = at % 8, row = at / 8 % rows, step = at / 8 / rows;
    const int64_t place = bit_place(from.step_bytes, row, step * 128 + chunk * 16);
    uint32_t words[4] = {};
    for (int p = 0; p < from.bits; ++p) {
      const uint32_t bits = *reinterpret_cast<const uint16_t*>(from.planes + p * from.plane_bytes + place);
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        // Spreads four bits to the lowest bits of four bytes.
        const uint32_t four = (bits >> (w * 4) & 15u) * 0x00204081u & 0x01010101u;
        words[w] |= four << p;
      }
    }
    to[(step * rows + row) * 8 + (chunk ^ (row % 8))] = {words[0], words[1], words[2], words[3]};
  });
}

void pack_bits(const PackBitsArgs& args) {
  BitTensor& to = args.output;
  const int device = args.device().index;
  clear_bits(to, false);
  const Packed packed{.planes = to.planes.mutable_data<uint8_t>(),
                      .plane_bytes = to.plane_bytes(),
                      .step_bytes = to.step_bytes(),
                      .outer = to.outer,
                      .padded_rows = to.padded_rows(),
                      .inner = to.inner,
                      .bits = to.bits,
                      .largest = to.largest(),
                      .scale = PerRow(to.scale),
                      .zero = PerRow(to.zero),
                      .sums = to.sums.mutable_data<int32_t>()};
  const bool rows = args.along == PackedAlong::rows;
  launch("pack_bits",
         overlapping(device, grid(ceil_div(to.padded_rows(), int64_t{rows ? kWarps : 32}) * to.steps()),
                     kThreads),
         rows ? pack_rows : pack_columns, args.x.data<float>(), packed);
}

void unpack_bits(const UnpackBitsArgs& args) {
  const BitOperand from(args.input);
  const bool rows = args.along == PackedAlong::rows;
  const int64_t inner = args.input.inner;
  float* x = args.x.mutable_data<float>();
  for_each("unpack_bits", args.device().index, inner * from.outer, [=] __device__(int64_t at) {
    const int64_t o = rows ? at / inner : at % from.outer, k = rows ? at % inner : at / from.outer;
    const int q = from.integer(bit_place(from.step_bytes, o, k), k);
    x[at] = from.scale.at(o) * (static_cast<float>(q) - from.zero.at(o));
  });
}

}  // namespace adj::kernels::cuda
