// Products of bit tensors on Hopper's tensor cores: warpgroup products of single bits, AND and popcount, m64
// n256 k256 (PTX ISA; 15,300 TOPS in isolation on an H200). A block computes tiles of 128 x kN of Y in turn,
// with two multiplier warpgroups and one warp that copies the operands, one plane's step of 1024 bits at a
// time, each by one bulk copy: BitTensor already has the shared-memory layout of the tensor cores. While a
// tile's sums are written, the steps of the next one are in flight. Three more warps search the thresholds
// for one-bit outputs during a tile's products.
//
// Pairs of planes (i, j) have weight 2^(i+j). They are taken by decreasing i + j, and the sums, which stay in
// registers, are doubled whenever i + j drops by one (Horner's rule): one loop and one set of sums for any
// bit widths. If Y has few columns, kSide planes of B are side by side as columns of one product, and are
// added at the end: A is then read once for them (tile reuse, QGTC, section 4.4).
//
// Many pairs, as for 4 by 4 bits, cost more than the same numbers as bytes, m64 n256 k32: then operands are
// first expanded to bytes in the same layout, and the same kernel takes these.
//
// Bytes: (128 + kN) 128 of shared memory per tile, pair and step; a step takes the tensor cores at least 4 kN
// cycles. At kN = 256 reading operands (80 KB) and writing them (48 KB) takes shared memory equally long,
// 1,000 cycles; 1,230 were measured. Experiments: docs/bits.md.

#include <adjoint/kernels/bits/cuda/bit_ends.cuh>
#include <adjoint/kernels/bits/cuda/bit_product.h>
#include <adjoint/kernels/cuda/mbarrier.cuh>

#include <algorithm>

namespace adj::kernels::cuda {

namespace {

template <int kN>
struct Shape {
  static constexpr int kColumnBytes =  ///< column data of an epilogue, for two tiles
      2 * kN * static_cast<int>(sizeof(BitTermWithBias));
  static constexpr int kStageBytes = (kTileRows + kN) * kRowBytes;
  static constexpr int kStages = std::min(6, (227 * 1024 - 2 * kPatternBytes - kColumnBytes) / kStageBytes);
  static constexpr int kSharedBytes = kStages * kStageBytes + 2 * kPatternBytes + kColumnBytes;
};

__device__ __forceinline__ void bulk_copy(uint32_t destination, const void* source, int bytes,
                                          uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          destination),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

/// Position in the ring of stages.
template <int kStages>
struct Stage {
  int number = 0;
  uint32_t round = 0;

  __device__ void advance() {
    if (++number < kStages) return;
    number = 0;
    round ^= 1;
  }
};

/// The largest shift of a pair: that of the first one processed.
template <int kSide>
__device__ __forceinline__ int first_shift(const Arguments& args) {
  return args.a.bits - 1 + (args.b.bits - 1) / kSide * kSide;
}
/// Calls f(plane of A, first of kSide planes of B) for the pairs with weight 2^shift.
template <int kSide, class F>
__device__ __forceinline__ void for_each_pair(const Arguments& args, int shift, F&& f) {
  for (int i = max(0, shift - args.b.bits + 1); i <= min(shift, args.a.bits - 1); ++i)
    if ((shift - i) % kSide == 0) f(i, shift - i);
}

template <int kN, int kSide>
__device__ void read_planes(const Arguments& args, uint32_t shared, uint32_t barriers) {
  using S = Shape<kN>;
  if (threadIdx.x != kMultipliers) return;
  constexpr int kColumns = kN / kSide;
  // Rows beyond the last are not read; stale data there only enters sums that are not written.
  const auto rows_of = [](const BitOperand& x, int first, int most) {
    constexpr int kGroup = static_cast<int>(BitTensor::kRowGroup);
    return min(most, (x.outer + kGroup - 1) / kGroup * kGroup - first);
  };
  Stage<S::kStages> stage;
  for (int number = static_cast<int>(blockIdx.x); number < args.tiles;
       number += static_cast<int>(gridDim.x)) {
    const Tile tile(args, number);
    const int first_a = tile.row * kTileRows, first_b = tile.column * kColumns;
    const int bytes_a = rows_of(args.a, first_a, kTileRows) * kRowBytes,
              bytes_b = rows_of(args.b, first_b, kColumns) * kRowBytes;
    for (int shift = first_shift<kSide>(args); shift >= 0; --shift)
      for_each_pair<kSide>(args, shift, [&](int i, int j) {
        const uint8_t* a = args.a.planes + i * args.a.plane_bytes + int64_t{first_a} * kRowBytes;
        const uint8_t* b = args.b.planes + j * args.b.plane_bytes + int64_t{first_b} * kRowBytes;
        const int side = min(kSide, args.b.bits - j);
        for (int k = 0; k < tile.steps; ++k) {
          const int64_t step = tile.step(args, k);
          const uint32_t full = barriers + stage.number * 8,
                         destination = shared + stage.number * S::kStageBytes;
          wait_for_barrier(full + S::kStages * 8, stage.round ^ 1);
          asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full),
                       "r"(bytes_a + side * bytes_b)
                       : "memory");
          bulk_copy(destination, a + step * args.a.step_bytes, bytes_a, full);
#pragma unroll 1
          for (int p = 0; p < side; ++p)
            bulk_copy(destination + (kTileRows + p * kColumns) * kRowBytes,
                      b + p * args.b.plane_bytes + step * args.b.step_bytes, bytes_b, full);
          stage.advance();
        }
      });
  }
}

/// Adds the sums of kSide planes into the first.
template <int kN, int kSide>
__device__ __forceinline__ void add_planes(int planes, int32_t (&sum)[kN / 2]) {
  if constexpr (kSide > 1) {
    constexpr int kPlane = kN / 2 / kSide;
#pragma unroll
    for (int p = 1; p < kSide; ++p)
      if (p < planes) {
#pragma unroll
        for (int i = 0; i < kPlane; ++i) sum[i] += sum[p * kPlane + i] << p;
      }
  }
}

/// Whether thresholds compute a product's outputs. With fewer columns, products finish before the thresholds
/// are found.
template <int kN, int kSide, Element kElement, Ending kEnding>
constexpr bool kHasThresholds = kN == 256 && kSide == 1 && kElement == Element::bit&& kEnding == Ending::bits;

/// Barrier of all multipliers, and with thresholds of the warps that search them, when a tile's columns are
/// ready. Those of the next tile are double-buffered: they are written while others may read these.
template <bool kAll>
__device__ __forceinline__ void meet_at_columns() {
  asm volatile("bar.sync 1, %0;" ::"n"(kMultipliers + (kAll ? kColumnThreads : 0)) : "memory");
}

template <int kN>
__device__ void find_thresholds(const Arguments& args, unsigned char* memory) {
  static_assert(sizeof(Thresholds<kN>) <= Shape<kN>::kColumnBytes / 2);
  const FourZeros zeros(args);
  bool parity = false;
  for (int number = static_cast<int>(blockIdx.x); number < args.tiles;
       number += static_cast<int>(gridDim.x)) {
    if (zeros.whole)
      leave_thresholds(args, zeros, Tile(args, number), *reinterpret_cast<Thresholds<kN>*>(memory));
    meet_at_columns<true>();
    memory += parity ? -Shape<kN>::kColumnBytes / 2 : Shape<kN>::kColumnBytes / 2;
    parity = !parity;
  }
}

template <int kN, int kSide, Element kElement, Ending kEnding>
__device__ void multiply_planes(const Arguments& args, unsigned char* memory, uint32_t shared,
                                uint32_t barriers) {
  using S = Shape<kN>;
  constexpr bool kThresholds = kHasThresholds<kN, kSide, kElement, kEnding>;
  constexpr int kColumns = kN / kSide;
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  const uint64_t tile_a = describe_tile(shared + warpgroup * 64 * kRowBytes, kPatternBytes),
                 tile_b = describe_tile(shared + kTileRows * kRowBytes, kPatternBytes);
  const FourZeros zeros = kThresholds ? FourZeros(args) : FourZeros();
  Stage<S::kStages> stage;
  bool parity = false;
  for (int number = static_cast<int>(blockIdx.x); number < args.tiles;
       number += static_cast<int>(gridDim.x)) {
    const Tile tile(args, number);
    EndTerms<kEnding> terms;
    int32_t rest[2];
    if (zeros.whole) {
      zeros.read(args, fragment_of_thread<kColumns>(tile).first_row, rest);
    } else if constexpr (kEnding != Ending::integers) {
      using Column = typename EndTerms<kEnding>::Column;
      leave_columns<kColumns>(reinterpret_cast<Column*>(memory), tile, args.b.outer,
                              [&](int column) { return terms.column(args, column); });
      terms.read(args, fragment_of_thread<kColumns>(tile));
    }
    int32_t sum[kN / 2];
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) sum[i] = 0;
    for (int shift = first_shift<kSide>(args); shift >= 0; --shift) {
      int count = 0;
      for_each_pair<kSide>(args, shift, [&](int, int) { count += tile.steps; });
      for (; count > 0; --count) {
        wait_for_barrier(barriers + stage.number * 8, stage.round);
        const int offset = stage.number * S::kStageBytes;
        begin_products();
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if constexpr (kElement == Element::bit)
            multiply_bits(sum, moved(tile_a, offset + k * 32), moved(tile_b, offset + k * 32));
          else
            multiply_bytes(sum, moved(tile_a, offset + k * 32), moved(tile_b, offset + k * 32));
        }
        end_products();
        wait_for_products();
        arrive_by_warp(barriers + (S::kStages + stage.number) * 8);
        stage.advance();
      }
      if (shift == 0) break;
#pragma unroll
      for (int i = 0; i < kN / 2; ++i) sum[i] *= 2;
    }
    add_planes<kN, kSide>(args.b.bits, sum);
    if constexpr (kEnding == Ending::integers) {
      leave_integers<kColumns>(args, tile, sum);
    } else {
      if (args.overlap) wait_for_leading();
      meet_at_columns<kThresholds>();
      const auto* const columns = reinterpret_cast<const typename EndTerms<kEnding>::Column*>(memory);
      if constexpr (kEnding == Ending::floats) {
        leave_floats<kColumns>(args, tile, columns, terms, sum);
      } else if (zeros.whole) {
        if constexpr (kThresholds)
          leave_bits_by_threshold<kColumns>(
              args, tile, *reinterpret_cast<const Thresholds<kColumns>*>(memory), rest, sum);
      } else if (args.result.bytes != nullptr) {
        args.small_sums ? leave_bytes<kColumns, true>(args, tile, columns, terms, sum)
                        : leave_bytes<kColumns, false>(args, tile, columns, terms, sum);
      } else {
        args.small_sums ? leave_bits<kColumns, true>(args, tile, columns, terms, sum)
                        : leave_bits<kColumns, false>(args, tile, columns, terms, sum);
      }
      memory += parity ? -S::kColumnBytes / 2 : S::kColumnBytes / 2;
      parity = !parity;
    }
  }
}

template <int kN, int kSide, Element kElement, Ending kEnding>
__global__ void __launch_bounds__(kThreads, 1) bit_product_kernel(const __grid_constant__ Arguments args) {
  using S = Shape<kN>;
  begin_beside(args.overlap);
  extern __shared__ unsigned char raw[];
  const auto begin = static_cast<uint32_t>(__cvta_generic_to_shared(raw));
  const uint32_t shared = (begin + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  const uint32_t columns = shared + S::kStages * S::kStageBytes, barriers = columns + S::kColumnBytes;
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::kStages; ++i) {
      initialize_barrier(barriers + i * 8, 1);
      initialize_barrier(barriers + (S::kStages + i) * 8, kMultipliers / 32);
    }
    publish_to_tensor_cores();
  }
  __syncthreads();
  if (threadIdx.x >= kMultipliers) {
    give_registers<56>();
    if (threadIdx.x < kThreads - kColumnThreads)
      read_planes<kN, kSide>(args, shared, barriers);
    else if constexpr (kHasThresholds<kN, kSide, kElement, kEnding>)
      find_thresholds<kN>(args, raw + (columns - begin));
  } else {
    take_registers<224>();
    multiply_planes<kN, kSide, kElement, kEnding>(args, raw + (columns - begin), shared, barriers);
  }
}

template <int kN, int kSide, Element kElement, Ending kEnding>
void run(Device device, Arguments args) {
  using S = Shape<kN>;
  const auto kernel = bit_product_kernel<kN, kSide, kElement, kEnding>;
  const DeviceScope scope(device.index);  // the attribute is per kernel and device
  ADJ_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kSharedBytes));
  args.row_tiles = static_cast<int>(ceil_div(args.a.outer, kTileRows));
  const int64_t tiles = args.row_tiles * ceil_div(int64_t{args.b.outer}, int64_t{kN / kSide});
  ADJ_CHECK(tiles < int64_t{1} << 31, "bit_gemm: {} tiles, expected less than 2^31", tiles);
  args.tiles = static_cast<int>(tiles);
  const int multiprocessors = properties(device.index).multiprocessors;
  launch("bit_gemm",
         overlapping(device.index, grid(std::min(args.tiles, multiprocessors)), kThreads, S::kSharedBytes),
         kernel, args);
}

int tile_columns(const BitTensor& b) { return b.outer > 128 ? 256 : b.outer > 64 ? 128 : 64; }

/// Planes of B placed side by side: as many as fit the columns, all of them or equal shares.
int planes_beside(const BitTensor& b) {
  const int most = 256 / tile_columns(b);
  for (int side = most; side > 1; side /= 2)
    if (b.bits > side / 2 && (b.bits <= side || b.bits % side == 0)) return side;
  return 1;
}

/// Whether bytes are faster. They take eight steps for each of a plane's; further pairs of planes are weighed
/// against the cost of writing the bytes, with step and byte times of an H200.
bool wants_bytes(const BitTensor& a, const BitTensor& b) {
  constexpr double kCycle = 1.0 / 1.755e9, kByte = 1.0 / 1.9e12, kLaunches = 5e-6;  // seconds
  const int columns = tile_columns(b);
  const int64_t blocks = ceil_div(a.outer, int64_t{kTileRows}) * ceil_div(b.outer, int64_t{columns});
  const int multiprocessors = properties(a.device().index).multiprocessors;
  const auto steps = static_cast<double>(ceil_div(blocks, int64_t{multiprocessors}) * a.steps());
  const auto cycles = [&](int times, int wide) { return times * (4.3 * wide + 110.0); };
  const int side = planes_beside(b);
  const double saved =
      (cycles(a.bits * static_cast<int>(ceil_div(b.bits, side)), columns * side) - cycles(8, columns)) *
      steps * kCycle;
  const auto bytes = [](const BitTensor& q) {
    return static_cast<double>(q.outer) * static_cast<double>(q.inner) * (1.0 + q.bits / 8.0);
  };
  return saved > (bytes(a) + bytes(b)) * kByte + kLaunches;
}

template <Element kElement, Ending kEnding>
void run(Device device, int columns, int side, const Arguments& args) {
  if constexpr (kElement == Element::bit) {
    if (side == 4) return run<256, 4, kElement, kEnding>(device, args);
    if (side == 2 && columns == 128) return run<256, 2, kElement, kEnding>(device, args);
    if (side == 2) return run<128, 2, kElement, kEnding>(device, args);
  }
  columns == 256   ? run<256, 1, kElement, kEnding>(device, args)
  : columns == 128 ? run<128, 1, kElement, kEnding>(device, args)
                   : run<64, 1, kElement, kEnding>(device, args);
}

/// Whether rows differ only in their sums, and sums are small enough for thresholds.
bool has_alike_rows(const Arguments& args, const BitTensor& a, const BitTensor& b) {
  const BitResult& result = args.result;
  const bool each =
      args.a.scale.each || args.a.zero.each || args.b.zero.each || result.scale.each || result.zero.each;
  return result.bits == 1 && result.bytes == nullptr && !each && result.row_scale == nullptr &&
         result.row_shift == nullptr && int64_t{a.largest()} * b.largest() * a.inner < kThresholdMost / 4;
}

/// Runs a product with the epilogue's data in `args`.
template <Ending kEnding>
void run(const BitTensor& a, const BitTensor& b, const BitSteps* steps, bool share_steps, Arguments args) {
  const Device device = a.device();
  args.a = BitOperand(a);
  args.b = BitOperand(b);
  args.steps = static_cast<int>(a.steps());
  args.inner = a.inner;
  args.small_sums = int64_t{a.largest()} * b.largest() * a.inner < int64_t{1} << 23;
  static_assert(BitSteps::kRows == kTileRows);
  if (steps != nullptr) {
    args.step_counts = steps->counts.data<int32_t>();
    args.step_list = steps->list.data<int32_t>();
  }
  // The previous kernel cleared the result's sums.
  args.overlap = args.result.sums != nullptr && properties(device.index).overlapping;
  if (a.bytes) return run<Element::byte, kEnding>(device, tile_columns(b), 1, args);
  if constexpr (kEnding == Ending::bits) args.alike_rows = has_alike_rows(args, a, b);
  if (!wants_bytes(a, b))
    return run<Element::bit, kEnding>(device, tile_columns(b), share_steps ? planes_beside(b) : 1, args);
  args.overlap = args.alike_rows = false;
  const BitTensor left = as_bytes(a), right = as_bytes(b);
  args.a = BitOperand(left);
  args.b = BitOperand(right);
  args.steps = static_cast<int>(left.steps());
  args.finer = static_cast<int>(BitTensor::kStepBits / 128);
  run<Element::byte, kEnding>(device, tile_columns(b), 1, args);
}

}  // namespace

bool has_bit_products(Device device) { return has_warpgroup_products(device); }

void bit_product(const BitGemmArgs& product) {
  Arguments args;
  if (product.y.dtype() == DType::i32) {
    args.integers = product.y.mutable_data<int32_t>();
    return run<Ending::integers>(product.a, product.b, product.steps, true, args);
  }
  args.floats = product.y.mutable_data<float>();
  args.bias = BitResult::numbers_of(product.bias);
  run<Ending::floats>(product.a, product.b, product.steps, true, args);
}

void bit_product(const BitTensor& a, const BitTensor& b, const BitSteps* steps, bool share_steps,
                 const BitResult& result) {
  Arguments args;
  args.result = result;
  run<Ending::bits>(a, b, steps, share_steps, args);
}

}  // namespace adj::kernels::cuda
