// Numbers to bit planes and back. A warp takes 32 numbers of a row at a time and votes on each bit: a ballot
// is a word of a plane. Along columns a block first transposes 32 x 32 numbers in shared memory, so that
// accesses to both the matrix and the planes are coalesced.
//
// Bytes: x once, planes once.
#include <adjoint/core/cuda/beside.cuh>
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/bits/bit_pack.h>
#include <adjoint/kernels/bits/cuda/bit_product.h>
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/types/bit_scale.h>

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
__device__ __forceinline__ void write_words(const Packed& output, int64_t row, int64_t step,
                                            const uint32_t (&words)[BitTensor::kMostBits], int lane) {
  const int64_t offset = bit_place(output.step_bytes, row, step * BitTensor::kStepBits + lane * 32);
#pragma unroll
  for (int p = 0; p < BitTensor::kMostBits; ++p)
    if (p < output.bits)
      *reinterpret_cast<uint32_t*>(output.planes + p * output.plane_bytes + offset) = words[p];
}

/// Votes on the bits of 32 numbers; lane `word` keeps the words.
__device__ __forceinline__ void vote(const Packed& output, int q, int word, int lane,
                                     uint32_t (&words)[BitTensor::kMostBits]) {
#pragma unroll
  for (int p = 0; p < BitTensor::kMostBits; ++p) {
    if (p >= output.bits) break;
    const uint32_t ballot = __ballot_sync(kAllLanes, (q >> p & 1) != 0);
    if (lane == word) words[p] = ballot;
  }
}

__global__ void __launch_bounds__(kThreads)
    clear(uint4* planes, int64_t words, int32_t* sums, int64_t outer) {
  begin_leading();
  const int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index < words) planes[index] = uint4{};
  if (index < outer) sums[index] = 0;
}

/// x [outer, inner]: one warp per row and step.
__global__ void __launch_bounds__(kThreads) pack_rows(const float* x, Packed output) {
  begin_overlapping();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const BlockPlace block(ceil_div(output.padded_rows, kWarps));
  const int64_t row = block.row * kWarps + threadIdx.x / 32, step = block.column;
  if (row >= output.padded_rows) return;
  const bool is_row = row < output.outer;
  const float scale = is_row ? output.scale.at(row) : 1.0f, zero = is_row ? output.zero.at(row) : 0.0f;
  uint32_t words[BitTensor::kMostBits] = {};
  int sum = 0;
  constexpr int kAtOnce = 8;  // loads in flight per lane
  for (int first = 0; first < kWords; first += kAtOnce) {
    const int64_t k = step * BitTensor::kStepBits + first * 32 + lane;
    float value[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      value[u] = is_row && k + u * 32 < output.inner ? x[row * output.inner + k + u * 32] : 0.0f;
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const bool valid = is_row && k + u * 32 < output.inner;
      const int q = valid ? quantized(value[u], scale, zero, output.largest) : 0;
      sum += q;
      vote(output, q, first + u, lane, words);
    }
  }
  write_words(output, row, step, words, lane);
  sum = __reduce_add_sync(kAllLanes, sum);
  if (lane == 0 && is_row) atomicAdd(output.sums + row, sum);  // integers: any order
}

/// x [inner, outer]: one block per steps of 32 columns.
__global__ void __launch_bounds__(kThreads) pack_columns(const float* x, Packed output) {
  begin_overlapping();
  constexpr int kColumns = 32 / kWarps;  // per warp
  __shared__ float tile[32][33];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const BlockPlace block(ceil_div(output.padded_rows, 32));
  const int64_t first = block.row * 32, step = block.column;
  float scale[kColumns], zero[kColumns];
  uint32_t words[kColumns][BitTensor::kMostBits] = {};
  int sum[kColumns] = {};
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int64_t column = first + warp * kColumns + c;
    scale[c] = column < output.outer ? output.scale.at(column) : 1.0f;
    zero[c] = column < output.outer ? output.zero.at(column) : 0.0f;
  }
  for (int word = 0; word < kWords; ++word) {
    const int64_t k = step * BitTensor::kStepBits + word * 32;
#pragma unroll
    for (int i = warp; i < 32; i += kWarps)
      tile[i][lane] = k + i < output.inner && first + lane < output.outer
                          ? x[(k + i) * output.outer + first + lane]
                          : 0.0f;
    __syncthreads();
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const bool valid = k + lane < output.inner && first + warp * kColumns + c < output.outer;
      const int q = valid ? quantized(tile[lane][warp * kColumns + c], scale[c], zero[c], output.largest) : 0;
      sum[c] += q;
      vote(output, q, word, lane, words[c]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int64_t column = first + warp * kColumns + c;
    if (column < output.padded_rows) write_words(output, column, step, words[c], lane);
    sum[c] = __reduce_add_sync(kAllLanes, sum[c]);
    if (lane == 0 && column < output.outer) atomicAdd(output.sums + column, sum[c]);
  }
}

// One block per tile of 128 rows scans its steps in turn: planes are read once.
__global__ void __launch_bounds__(kThreads)
    find_steps(BitOperand operand, int steps, int32_t* counts, int32_t* list) {
  begin_overlapping();
  constexpr int64_t kTileBytes = BitSteps::kRows * BitTensor::kRowBytes;
  const int64_t first = blockIdx.x * kTileBytes, last = min(operand.step_bytes, first + kTileBytes);
  int count = 0;
  for (int step = 0; step < steps; ++step) {
    uint32_t any = 0;
    for (int p = 0; p < operand.bits; ++p) {
      const uint8_t* plane = operand.planes + p * operand.plane_bytes + step * operand.step_bytes;
      for (int64_t b = first + int64_t{threadIdx.x} * 16; b < last; b += kThreads * 16) {
        const uint4 x = *reinterpret_cast<const uint4*>(plane + b);
        any |= x.x | x.y | x.z | x.w;
      }
    }
    if (__syncthreads_or(any != 0)) {
      if (threadIdx.x == 0) list[int64_t{blockIdx.x} * steps + count] = step;
      ++count;
    }
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

// One warp per row sets its entries' bits by atomic OR, deterministic in any order. Bytes: the planes, which
// are cleared first, and the structure.
__global__ void __launch_bounds__(kThreads)
    set_bits(const int64_t* offsets, const int32_t* indices, int64_t rows, int64_t step_bytes,
             uint8_t* planes, int32_t* sums, int32_t* repeats) {
  begin_overlapping();
  const int64_t row = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  const int64_t begin = offsets[row], end = offsets[row + 1];
  int sum = 0;
  for (int64_t e = begin + lane; e < end; e += 32) {
    const int column = indices[e];
    const uint32_t bit = 1u << column % 32;
    auto* const word = reinterpret_cast<uint32_t*>(planes + bit_place(step_bytes, row, column / 32 * 32));
    sum += (atomicOr(word, bit) & bit) == 0;
  }
  sum = __reduce_add_sync(0xffffffffu, sum);
  if (lane > 0) return;
  sums[row] = sum;
  if (sum < end - begin) atomicAdd(repeats, static_cast<int>(end - begin) - sum);
}

}  // namespace

void clear_bits(BitTensor& bits, bool planes) {
  const int64_t words = planes ? bits.planes.numel() / 16 : 0, n = std::max(words, bits.outer);
  launch("bit_tensor", over(bits.device().index, n), clear,
         planes ? static_cast<uint4*>(bits.planes.raw_mutable_data()) : nullptr, words,
         bits.sums.mutable_data<int32_t>(), bits.outer);
}

void expand_bits(const ExpandBitsArgs& args) {
  const int64_t chunks = args.output.steps() * 8, rows = args.output.padded_rows();
  if (chunks * rows == 0) return;
  const BitOperand source(args.input);
  auto* bytes = static_cast<uint4*>(args.output.planes.raw_mutable_data());
  // One thread per 16 numbers of a row: 16 bytes.
  for_each("expand_bits", args.device().index, chunks * rows, [=] __device__(int64_t index) {
    const int64_t chunk = index % 8, row = index / 8 % rows, step = index / 8 / rows;
    const int64_t place = bit_place(source.step_bytes, row, step * 128 + chunk * 16);
    uint32_t words[4] = {};
    for (int p = 0; p < source.bits; ++p) {
      const uint32_t bits =
          *reinterpret_cast<const uint16_t*>(source.planes + p * source.plane_bytes + place);
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        // Spreads four bits to the lowest bits of four bytes.
        const uint32_t four = (bits >> (w * 4) & 15u) * 0x00204081u & 0x01010101u;
        words[w] |= four << p;
      }
    }
    bytes[(step * rows + row) * 8 + (chunk ^ (row % 8))] = {words[0], words[1], words[2], words[3]};
  });
}

void pack_bits(const PackBitsArgs& args) {
  BitTensor& output = args.output;
  const int device = args.x.device().index;
  clear_bits(output, false);
  const Packed packed{.planes = output.planes.mutable_data<uint8_t>(),
                      .plane_bytes = output.plane_bytes(),
                      .step_bytes = output.step_bytes(),
                      .outer = output.outer,
                      .padded_rows = output.padded_rows(),
                      .inner = output.inner,
                      .bits = output.bits,
                      .largest = output.largest(),
                      .scale = PerRow(output.scale),
                      .zero = PerRow(output.zero),
                      .sums = output.sums.mutable_data<int32_t>()};
  const bool rows = args.along == PackedAlong::rows;
  launch(
      "pack_bits",
      overlapping(device, grid(ceil_div(output.padded_rows(), int64_t{rows ? kWarps : 32}) * output.steps()),
                  kThreads),
      rows ? pack_rows : pack_columns, args.x.data<float>(), packed);
}

void unpack_bits(const UnpackBitsArgs& args) {
  const BitOperand source(args.input);
  const bool rows = args.along == PackedAlong::rows;
  const int64_t inner = args.input.inner;
  float* x = args.x.mutable_data<float>();
  for_each("unpack_bits", args.x.device().index, inner * source.outer, [=] __device__(int64_t index) {
    const int64_t o = rows ? index / inner : index % source.outer,
                  k = rows ? index % inner : index / source.outer;
    const int q = source.integer(bit_place(source.step_bytes, o, k), k);
    x[index] = source.scale.at(o) * (static_cast<float>(q) - source.zero.at(o));
  });
}

void find_bit_steps(const FindBitStepsArgs& args) {
  if (args.output.counts.numel() == 0) return;
  launch("find_bit_steps", overlapping(args.device().index, grid(args.output.counts.numel()), kThreads),
         find_steps, BitOperand(args.input), static_cast<int>(args.input.steps()),
         args.output.counts.mutable_data<int32_t>(), args.output.list.mutable_data<int32_t>());
}

void adjacency_bits(const AdjacencyBitsArgs& args) {
  const Csr& a = args.a;
  clear_bits(args.output, true);
  args.repeats.zero_();
  if (a.rows == 0) return;
  launch("adjacency_bits", overlapping(a.device().index, blocks_for(a.rows * 32), kThreads), set_bits,
         a.offsets.data<int64_t>(), a.indices.data<int32_t>(), a.rows, args.output.step_bytes(),
         args.output.planes.mutable_data<uint8_t>(), args.output.sums.mutable_data<int32_t>(),
         args.repeats.mutable_data<int32_t>());
}

// Numbers to byte rows and back. One thread per byte or number. Bytes: both sides once, some 100 KB per
// batch, so the launch dominates.

void pack_bytes(const PackBytesArgs& args) {
  ByteTensor& output = args.output;
  const ByteRows rows(output);
  const float *x = args.x.data<float>(), *scale = output.scale.data<float>(),
              *zero = output.zero.data<float>();
  const int largest = output.largest();
  uint8_t* bytes = output.bytes.mutable_data<uint8_t>();
  for_each("pack_bytes", args.x.device().index, rows.used(), [=] __device__(int64_t i) {
    bytes[rows.place(i)] = rows.joined(i, [&](int64_t row, int64_t column) {
      return quantized(x[row * rows.width + column], *scale, *zero, largest);
    });
  });
}

void unpack_bytes(const UnpackBytesArgs& args) {
  const ByteRows x(args.x);
  const uint8_t* bytes = args.x.bytes.data<uint8_t>();
  const float *scale = args.x.scale.data<float>(), *zero = args.x.zero.data<float>();
  float* y = args.y.mutable_data<float>();
  for_each("unpack_bytes", args.x.device().index, args.y.numel(), [=] __device__(int64_t i) {
    y[i] = byte_value(x.at(bytes, i / x.width, i % x.width), *scale, *zero);
  });
}

void repack_bytes(const RepackBytesArgs& args) {
  const ByteRows x(args.x), output(args.output);
  const uint8_t* input = args.x.bytes.data<uint8_t>();
  uint8_t* bytes = args.output.bytes.mutable_data<uint8_t>();
  for_each("repack_bytes", args.x.device().index, output.used(), [=] __device__(int64_t i) {
    bytes[output.place(i)] =
        output.joined(i, [&](int64_t row, int64_t column) { return x.at(input, row, column); });
  });
}

}  // namespace adj::kernels::cuda
