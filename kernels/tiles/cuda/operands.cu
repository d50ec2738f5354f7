// Features and values as tensor-core operands. float16 has 5 exponent bits, so numbers are first scaled
// exactly by a power of two: by the maximum of each feature column, as these differ in scale, and by the
// maximum of all values. Maxima are found by integer atomics on the bits of absolute values, deterministic in
// any order.
//
// Bytes: features are read twice and written once at half size, values read twice by index and written.

#include <adjoint/kernels/cuda/float16.cuh>
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/tiles/cuda/operands.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

namespace adj::kernels::cuda {

namespace {

constexpr char kName[] = "tile_spmm";
constexpr int kThreads = 256;
constexpr int kPerThread = 8;  // features: 16 bytes of operands

/// The bits of |x|, 0 if not finite; ordered like |x|.
__device__ __forceinline__ unsigned finite_bits(float x) {
  const unsigned bits = __float_as_uint(x) & 0x7fffffffu;
  return bits < 0x7f800000u ? bits : 0u;
}

/// 2^k that scales numbers up to this absolute value into float16's range.
__device__ __forceinline__ float power_to_fit(unsigned largest_bits) {
  if (largest_bits == 0) return 1.0f;
  const int exponent = largest_bits >> 23 != 0 ? static_cast<int>(largest_bits >> 23) - 127 : -127;
  const int power = min(max(14 - exponent, -126), 126);
  return __uint_as_float(static_cast<unsigned>(power + 127) << 23);
}

/// Multiplier of a row; `factor` null: 1.
__device__ __forceinline__ float factor_of(const float* factor, int64_t row) {
  return factor != nullptr ? __ldg(factor + row) : 1.0f;
}

/// largest[f] = maximum of column f; zeroed beforehand. A thread takes kPack columns of strided rows, and a
/// block merges its threads.
template <int kPack>
__global__ void __launch_bounds__(kThreads)
    largest_of_columns(const float* x, const float* factor, int64_t n, int width, unsigned* largest) {
  begin_overlapping();
  constexpr int kAtOnce = 16 / kPack;
  __shared__ unsigned found[kThreads][kPack];
  const int f = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kPack;
  const int64_t stride = static_cast<int64_t>(gridDim.y) * blockDim.y;
  unsigned most[kPack] = {};
  for (int64_t j = blockIdx.y * blockDim.y + threadIdx.y; f < width && j < n; j += stride * kAtOnce) {
    Pack<float, kPack> value[kAtOnce];
    float factors[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int64_t row = min(j + u * stride, n - 1);
      value[u] = load<kPack>(x + row * width + f);
      factors[u] = factor_of(factor, row);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
#pragma unroll
      for (int v = 0; v < kPack; ++v) most[v] = max(most[v], finite_bits(value[u][v] * factors[u]));
  }
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
#pragma unroll
  for (int v = 0; v < kPack; ++v) found[thread][v] = most[v];
  __syncthreads();
  if (threadIdx.y != 0 || f >= width) return;
  for (int y = 1; y < static_cast<int>(blockDim.y); ++y)
#pragma unroll
    for (int v = 0; v < kPack; ++v)
      most[v] = max(most[v], found[y * static_cast<int>(blockDim.x) + thread][v]);
#pragma unroll
  for (int v = 0; v < kPack; ++v) atomicMax(largest + f + v, most[v]);
}

/// Rows of operands, zero-padded. `inverse` null: no scale.
template <class Operand, class S>
__global__ void __launch_bounds__(kThreads)
    round_features(const S* x, const float* factor, int64_t n, int width, int pitch, const float* inverse,
                   uint16_t* output) {
  begin_overlapping();
  const int packs = pitch / kPerThread;
  const int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= n * packs) return;
  const int64_t row = index / packs;
  const int first = static_cast<int>(index - row * packs) * kPerThread;
  const S* const input = x + row * width + first;
  float value[kPerThread] = {};
  if (sizeof(S) == 4 && width % 4 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
      first + kPerThread <= width) {
    const auto lower = load<4>(reinterpret_cast<const float*>(input)),
               upper = load<4>(reinterpret_cast<const float*>(input) + 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      value[i] = lower[i];
      value[4 + i] = upper[i];
    }
  } else {
#pragma unroll
    for (int i = 0; i < kPerThread; ++i)
      if (first + i < width) value[i] = widen(input[i]);
  }
  const float row_factor = factor_of(factor, row);
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) value[i] *= row_factor;
  Pack<uint16_t, kPerThread> pack;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i)
    pack[i] = Operand(inverse != nullptr ? value[i] * __frcp_rn(inverse[first + i]) : value[i]).bits;
  store(output + row * pitch + first, pack);
}

__device__ __forceinline__ float value_at(const float* values, const int32_t* order, int32_t entry) {
  return values[order != nullptr ? order[entry] : entry];
}

__global__ void __launch_bounds__(kThreads)
    largest_value(const float* values, const int32_t* order, const int32_t* entries, int64_t n,
                  unsigned* largest) {
  begin_overlapping();
  unsigned most = 0;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t v = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; v < n; v += stride)
    if (entries[v] >= 0) most = max(most, finite_bits(value_at(values, order, entries[v])));
  most = __reduce_max_sync(0xffffffffu, most);
  if (threadIdx.x % 32 == 0) atomicMax(largest, most);
}

/// One thread per row of a tile. `largest` null: no scale.
template <class Operand>
__global__ void __launch_bounds__(kThreads)
    round_values(const float* values, const int32_t* order, const int32_t* entries, const uint64_t* bits,
                 const int32_t* starts, int64_t rows, const unsigned* largest, uint32_t* output,
                 float* inverse) {
  begin_overlapping();
  const float scale = largest != nullptr ? power_to_fit(*largest) : 1.0f;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row == 0) *inverse = 1.0f / scale;
  if (row >= rows) return;
  int v = starts[row];
  const int end = starts[row + 1];
  for (uint64_t left = bits[row]; left != 0; left &= left - 1, ++v) {
    const int column = __ffsll(static_cast<long long>(left)) - 1;
    output[v] = place_in_tile(static_cast<int>(row % RowTiles::kRows), column) << 16 |
                Operand(value_at(values, order, entries[v]) * scale).bits;
  }
  for (; v < end; ++v) output[v] = kNoPlace << 16;
}

}  // namespace

OperandFeatures operand_features(const Tensor& x, OperandScale scale, const Tensor& factor) {
  const Device device = x.device();
  const int64_t n = x.size(0), width = x.size(1);
  OperandFeatures features;
  const float* factors = data_or_null<float>(factor);
  if (x.dtype() == DType::bf16 && !factor && width % 8 == 0 && aligned_to_16(x.raw_data())) {
    features.data = x.raw_data();
    features.pitch = width;
    return features;
  }
  features.pitch = ceil_div(width, 8) * 8;
  features.kept = Tensor::empty({n, 2 * features.pitch}, DType::u8, device);
  features.data = features.kept.raw_data();
  auto* operands = static_cast<uint16_t*>(features.kept.raw_mutable_data());
  const auto pitch = static_cast<int>(features.pitch), columns = static_cast<int>(width);
  const LaunchShape shape = overlapping(device.index, blocks_for(n * (pitch / kPerThread)), kThreads);
  if (x.dtype() == DType::bf16) {
    launch(kName, shape, round_features<bfloat16, bfloat16>, x.data<bfloat16>(), factors, n, columns, pitch,
           nullptr, operands);
    return features;
  }
  features.operand = TileOperand::float16;
  features.column_scale = Tensor::empty({features.pitch}, DType::f32, device);
  Tensor largest = Tensor::zeros({width}, DType::i32, device);
  auto* bits = reinterpret_cast<unsigned*>(largest.mutable_data<int32_t>());
  const bool wide = width % 4 == 0 && aligned_to_16(x.raw_data());
  const int64_t packs = wide ? width / 4 : width;
  const unsigned across = packs <= 16 ? 16 : packs <= 32 ? 32 : packs <= 64 ? 64 : 128;
  const auto x_blocks = static_cast<unsigned>(ceil_div(packs, across));
  const dim3 threads(across, kThreads / across);
  // Few blocks: each ends in one atomic per column.
  const int64_t wanted = 2 * properties(device.index).multiprocessors / x_blocks + 1;
  const auto y_blocks =
      static_cast<unsigned>(std::min<int64_t>({wanted, ceil_div(n, 4 * threads.y), int64_t{65535}}));
  launch(kName, overlapping(device.index, {x_blocks, std::max(y_blocks, 1u)}, threads),
         wide ? largest_of_columns<4> : largest_of_columns<1>, x.data<float>(), factors, n, columns, bits);
  float* inverse = features.column_scale.mutable_data<float>();
  const bool of_all = scale == OperandScale::of_all;
  for_each(kName, device.index, pitch, [=] __device__(int64_t f) {
    unsigned most = f < columns ? bits[f] : 0;
    for (int other = 0; of_all && other < columns; ++other) most = max(most, bits[other]);
    inverse[f] = 1.0f / power_to_fit(most);
  });
  launch(kName, shape, round_features<float16, float>, x.data<float>(), factors, n, columns, pitch, inverse,
         operands);
  return features;
}

void tile_values(const TileValuesArgs& args) {
  const RowTiles& tiles = args.tiles;
  const Device device = tiles.device();
  const float* values = args.values.data<float>();
  const int32_t* order = data_or_null<int32_t>(args.order);
  const int64_t n = tiles.entries.numel(), rest = tiles.rest.entries();
  const int64_t rows = tiles.num_tiles() * RowTiles::kRows;
  const LaunchShape shape = overlapping(device.index, std::max(1u, blocks_for(rows)), kThreads);
  auto* output = static_cast<uint32_t*>(args.output.tile.raw_mutable_data());
  auto* inverse = args.output.scale.mutable_data<float>();
  const int32_t *entries = tiles.entries.data<int32_t>(), *starts = tiles.starts.data<int32_t>();
  const auto* bits = static_cast<const uint64_t*>(tiles.bits.raw_data());
  if (args.features == DType::bf16) {
    launch("tile_values", shape, round_values<bfloat16>, values, order, entries, bits, starts, rows, nullptr,
           output, inverse);
  } else {
    Tensor most = Tensor::zeros({1}, DType::i32, device);
    auto* largest = reinterpret_cast<unsigned*>(most.mutable_data<int32_t>());
    launch("tile_values", overlapping(device.index, std::min(blocks_for(n, 8), 4096u), kThreads),
           largest_value, values, order, entries, n, largest);
    launch("tile_values", shape, round_values<float16>, values, order, entries, bits, starts, rows, largest,
           output, inverse);
  }
  const int32_t* rest_entry = tiles.rest_entry.data<int32_t>();
  float* of_rest = args.output.rest.mutable_data<float>();
  for_each("tile_values", device.index, rest,
           [=] __device__(int64_t e) { of_rest[e] = value_at(values, order, rest_entry[e]); });
}

}  // namespace adj::kernels::cuda
