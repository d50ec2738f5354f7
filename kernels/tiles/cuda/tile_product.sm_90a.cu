// Tiles times features on Hopper's tensor cores (tile_product.h). A step of a block is a tile and a slab of
// kN features (pipeline.cuh). Readers copy the rows of X named by the tile's columns to shared memory, and
// the tile's bits or values. Multipliers issue the tensor-core products and keep the sums of a window, 128 x
// kN, in registers. They expand a tile of ones from its bits to registers during the previous step's product;
// the readers expand a tile of values to shared memory, with kStages - 2 tiles' rows in flight.
//
// Bytes: one row of X per tile column (2 kN bytes, from L2 if adjacent windows share columns), 8 per tile row
// or 4 per entry, all once per slab; 512 kN written per window and slab. A row of X serves all rows of the
// window: a step takes the tensor cores 4 kN cycles (1024 at kN = 256), and L2, at its best, slightly less
// for 128 kN bytes. Measurements and experiments: docs/tensor_cores.md.

#include <adjoint/kernels/tiles/cuda/pipeline.cuh>
#include <adjoint/kernels/tiles/tile_spmm.h>

#include <algorithm>

namespace adj::kernels::cuda {

namespace {

constexpr int kRows = kTileRows, kColumns = kTileColumns;
constexpr int kTileBytes = kRows * kRowBytes;  // expanded
constexpr int kCopiedValues = 2044;
constexpr int kMostStages = 8;  // more are not faster

/// A kernel for slabs of kN features, of ones or of values.
template <int kN, bool kWeighted>
struct Shape {
  /// Two readers per scheduler, if the sums leave registers for them.
  static constexpr int kReaders = kN == 128 ? 256 : 128;
  static constexpr int kThreads = kMultipliers + kReaders;
  // Warpgroups redistribute the registers of the launch, in multiples of 8.
  static constexpr int kMultiplierRegisters = kN == 128 ? 152 : 200, kReaderRegisters = 104;
  static_assert(kMultipliers * kMultiplierRegisters + kReaders * kReaderRegisters ==
                64 * 1024 / kThreads / 8 * 8 * kThreads);

  /// Source of a tile: the bits of its rows; or the bounds of its values, followed by the values.
  static constexpr int kSourceBytes = kWeighted ? 16 + kCopiedValues * 4 : kRows * 8;
  static constexpr int kOperands = kWeighted ? kTileBytes : 0;  // offset of the rows of X in a stage
  static constexpr int kSource = kOperands + kN / 64 * kPanelBytes;
  static constexpr int kStageBytes = kSource + kSourceBytes;
  static_assert(kStageBytes % kPatternBytes == 0);
  /// As many as fit next to the barriers.
  static constexpr int kStages = std::min(kMostStages, (227 * 1024 - 2 * kPatternBytes) / kStageBytes);
  static constexpr int kSharedBytes = kStages * kStageBytes + 2 * kPatternBytes;
  using Ring = StageRing<kStages, kWeighted ? kReaders / 32 : kReaders>;
};

struct Arguments {
  TileShares shares;
  const int32_t* window_of;
  const int32_t* columns;
  const uint64_t* bits;
  const int32_t* starts;
  const uint32_t* values;
  const float* value_scale;
  const uint16_t* x;
  int64_t pitch;
  float* parts;
  int64_t num_windows;
};

__device__ __forceinline__ void write_shared(uint32_t destination, uint32_t x, uint32_t y, uint32_t z,
                                             uint32_t w) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(destination), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}

template <class Operand>
constexpr uint32_t kOne = std::is_same_v<Operand, bfloat16> ? 0x3f80 : 0x3c00;

/// A tile of ones: its bits, which multipliers expand to registers.
struct Ones {
  __device__ void find(const Arguments&, int) {}
  __device__ void copy(const Arguments& a, int thread, int tile, uint32_t source) const {
    copy_bits(a.bits, tile, thread, source);
  }
};

/// A multiplier's part of a tile of ones as tensor-core register operands: four words per 16 columns.
template <class Operand>
__device__ __forceinline__ void expand_ones(const TileBits& bits, uint32_t (&operand)[4][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int k = 0; k < 4; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint2 row = bits.row[i % 2];
      const uint32_t half = k < 2 ? row.x : row.y;
      const uint32_t pair = half >> (k % 2 * 16 + i / 2 * 8 + lane % 4 * 2) & 3;
      operand[k][i] = ((pair | pair << 15) & 0x10001u) * kOne<Operand>;
    }
}

/// A tile of values: zeroed, then each reader scatters some values.
template <int kReaders>
class Values {
 public:
  /// Loads the bounds.
  __device__ void find(const Arguments& a, int tile) {
    begin_ = __ldg(a.starts + int64_t{tile} * kRows);
    end_ = __ldg(a.starts + int64_t{tile} * kRows + kRows);
  }
  __device__ void copy(const Arguments& a, int thread, int, uint32_t source) const {
    if (thread == 0)
      asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(source), "r"(begin_), "r"(end_) : "memory");
    const int end = min(end_ - begin_, kCopiedValues);
    for (int v = thread * 4; v < end; v += kStep)
      copy_async(source + 16 + v * 4, a.values + begin_ + v, true);
  }
  static __device__ void expand(const Arguments& a, int thread, uint32_t source, uint32_t destination) {
#pragma unroll
    for (int i = 0; i < kTileBytes / 16 / kReaders; ++i)
      write_shared(destination + (i * kReaders + thread) * 16, 0, 0, 0, 0);
    meet<kReaders>(1);  // all zeros and all copies are written
    int begin, end;
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(begin), "=r"(end) : "r"(source) : "memory");
    const int copied = min(end - begin, kCopiedValues);
    for (int v = thread * 4; v < copied; v += kStep) {
      uint4 four;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
                   : "r"(source + 16 + v * 4)
                   : "memory");
      put(destination, four);
    }
    for (int v = begin + copied + thread * 4; v < end; v += kStep)
      put(destination, __ldg(reinterpret_cast<const uint4*>(a.values + v)));
  }

 private:
  static_assert(kCopiedValues % 4 == 0);
  static constexpr int kStep = kReaders * 4;
  static __device__ void put(uint32_t destination, const uint4& four) {
#pragma unroll
    for (uint32_t value : {four.x, four.y, four.z, four.w})
      if (value >> 16 != kNoPlace)
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(destination + (value >> 16) * 2),
                     "h"(static_cast<uint16_t>(value))
                     : "memory");
  }
  int begin_ = 0, end_ = 0;
};

template <int kN, bool kWeighted>
__device__ void read_tiles(const Arguments& a, uint32_t shared, uint32_t barriers) {
  using S = Shape<kN, kWeighted>;
  [[maybe_unused]] constexpr int kAhead = S::kStages - 2;
  const int thread = static_cast<int>(threadIdx.x) - kMultipliers;
  using Tile = std::conditional_t<kWeighted, Values<S::kReaders>, Ones>;
  RowCopies<kN, S::kReaders> rows[2] = {RowCopies<kN, S::kReaders>(thread),
                                        RowCopies<kN, S::kReaders>(thread)};
  Tile tile[2];
  const uint32_t pitch = keep(kAllLanes, static_cast<uint32_t>(a.pitch * 2));
  typename S::Ring copied(barriers), expanded(barriers);
  int left = 0;  // copied, but not expanded
  [[maybe_unused]] const auto expand = [&] {
    const uint32_t address = shared + expanded.stage() * S::kStageBytes;
    if constexpr (kWeighted) Tile::expand(a, thread, address + S::kSource, address);
    expanded.written();
    expanded.advance();
    --left;
  };
  for_each_step(
      a.shares,
      [&](const TileSteps& step, auto i) {
        rows[i].find(a.columns, step.tile);
        tile[i].find(a, step.tile);
      },
      [&](const TileSteps& step, auto i) {
        copied.wait_until_read();
        const uint32_t destination = shared + copied.stage() * S::kStageBytes;
        const int feature = step.slab * kN;
        rows[i].begin(a.x + feature, pitch, feature + rows[i].feature() < a.pitch,
                      destination + S::kOperands);
        tile[i].copy(a, thread, step.tile, destination + S::kSource);
        if constexpr (kWeighted) {
          commit_copies();
          ++left;
          wait_for_copies<kAhead>();
          if (left > kAhead) expand();
        } else {
          copied.written_by_copies();
        }
        copied.advance();
      });
  wait_for_copies<0>();
  if constexpr (kWeighted) {
    while (left > 0) expand();
  }
}

/// A block's part of a window's tiles in one slab.
struct Part {
  int first, end;  ///< tiles
  int64_t index;   ///< index in parts
  int feature;
};

/// Recomputes the thread's non-finite sums over their own entries.
template <class Operand, int kN, bool kWeighted>
__device__ __noinline__ void sum_again(const Arguments& a, const Part& part, float* sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int i = 0; i < kN / 2; ++i) {
    const int row = warp * 16 + lane / 4 + (i / 2 % 2) * 8;
    const int feature = part.feature + i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (isfinite(sums[i]) || feature >= a.pitch) continue;
    float sum = 0;
    for (int tile = part.first; tile < part.end; ++tile) {
      const int64_t index = int64_t{tile} * kRows + row;
      uint64_t bits = a.bits[index];
      for (int v = a.starts[index]; bits != 0; bits &= bits - 1, ++v) {
        const int32_t column =
            a.columns[int64_t{tile} * kColumns + __ffsll(static_cast<long long>(bits)) - 1];
        Operand x, weight;
        x.bits = a.x[column * a.pitch + feature];
        weight.bits = static_cast<uint16_t>(kWeighted ? a.values[v] : kOne<Operand>);
        sum = fmaf(static_cast<float>(weight), static_cast<float>(x), sum);
      }
    }
    sums[i] = sum;
  }
}

template <class Operand, int kN, bool kWeighted>
__device__ void multiply_all(const Arguments& a, uint32_t shared, uint32_t barriers) {
  using S = Shape<kN, kWeighted>;
  float sum[kN / 2];
#pragma unroll
  for (int i = 0; i < kN / 2; ++i) sum[i] = 0;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const uint64_t tile_rows = describe_tile(shared + warpgroup_of_multipliers() * 64 * kRowBytes, kPanelBytes),
                 gathered = describe_tile(shared + S::kOperands, kPanelBytes);
  const float scale = a.value_scale != nullptr ? __ldg(a.value_scale) : 1.0f;
  TileSteps steps(a.shares), after = steps;
  after.advance();
  // Of this step, the next one and, loaded meanwhile, the one after it.
  int window = __ldg(a.window_of + steps.tile), next_window = __ldg(a.window_of + after.tile);
  int first = steps.tile;  // of the window, in this block
  typename S::Ring ring(barriers);
  [[maybe_unused]] TileBits bits;
  if constexpr (!kWeighted) {
    ring.wait_until_written();
    bits.read(shared + S::kSource);
  }
  while (steps.valid(a.shares)) {
    const int tile = steps.tile, slab = steps.slab;
    const bool last_tile = tile + 1 == steps.end;
    const int stage = ring.stage() * S::kStageBytes;
    typename S::Ring next = ring;
    next.advance();
    const uint64_t rows_of_x = moved(gathered, stage);
    steps.advance();
    if constexpr (kWeighted) {
      ring.wait_until_written();
      begin_products();
#pragma unroll
      for (int k = 0; k < kColumns / 16; ++k)
        multiply_tiles<false, true, Operand>(sum, moved(tile_rows, stage + k * 32),
                                             moved(rows_of_x, k * 16 * kRowBytes), k > 0 || tile != first);
      end_products();
    } else {
      uint32_t operand[kColumns / 16][4];
      expand_ones<Operand>(bits, operand);
      begin_products();
#pragma unroll
      for (int k = 0; k < kColumns / 16; ++k)
        multiply_tiles<true, Operand>(sum, operand[k], moved(rows_of_x, k * 16 * kRowBytes),
                                      k > 0 || tile != first);
      end_products();
      // Loads the next tile's bits meanwhile, before this stage is released.
      if (steps.valid(a.shares)) {
        next.wait_until_written();
        bits.read(shared + next.stage() * S::kStageBytes + S::kSource);
      }
    }
    after.advance();
    // Not earlier: the fence before the products waits for pending loads.
    const int second_window = __ldg(a.window_of + after.tile);
    wait_for_products();
    ring.read();
    ring = next;
    const bool ends = next_window != window || last_tile;
    const int own_window = window;
    window = next_window;
    next_window = second_window;
    if (!ends) continue;
    const bool begun_before = first > 0 && __ldg(a.window_of + first - 1) == own_window;
    const Part part{first, tile + 1, begun_before ? a.num_windows + blockIdx.x : own_window, slab * kN};
    if (!all_finite(sum)) {
      float copy[kN / 2];  // keeps the sums in registers elsewhere
#pragma unroll
      for (int i = 0; i < kN / 2; ++i) copy[i] = sum[i];
      sum_again<Operand, kN, kWeighted>(a, part, copy);
#pragma unroll
      for (int i = 0; i < kN / 2; ++i) sum[i] = copy[i];
    }
    float* const upper =
        a.parts + (part.index * kRows + warp * 16 + lane / 4) * a.pitch + part.feature + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) {
      if (part.feature + j * 8 >= a.pitch) break;
      float* const output = upper + j * 8;
      // Streaming stores: read once, by another kernel, and would evict X from L2.
      __stcs(reinterpret_cast<float2*>(output), float2{sum[j * 4] * scale, sum[j * 4 + 1] * scale});
      __stcs(reinterpret_cast<float2*>(output + 8 * a.pitch),
             float2{sum[j * 4 + 2] * scale, sum[j * 4 + 3] * scale});
    }
    first = steps.tile;
  }
}

template <class Operand, int kN, bool kWeighted>
__global__ void __launch_bounds__(Shape<kN, kWeighted>::kThreads, 1)
    tile_product_kernel(const __grid_constant__ Arguments a) {
  using S = Shape<kN, kWeighted>;
  begin_leading();
  const uint32_t shared = patterned_shared();
  const uint32_t barriers = shared + S::kStages * S::kStageBytes;
  S::Ring::initialize(barriers);
  if (threadIdx.x >= kMultipliers) {
    give_registers<S::kReaderRegisters>();
    read_tiles<kN, kWeighted>(a, shared, barriers);
  } else {
    take_registers<S::kMultiplierRegisters>();
    multiply_all<Operand, kN, kWeighted>(a, shared, barriers);
  }
}

template <class Operand, int kN, bool kWeighted>
void run(Device device, const Arguments& a) {
  using S = Shape<kN, kWeighted>;
  launch_over_tiles<S>("tile_product", device, tile_product_kernel<Operand, kN, kWeighted>, a);
}

template <class Operand>
void run(Device device, const Arguments& a) {
  const auto with = [&]<int kN>() {
    a.values != nullptr ? run<Operand, kN, true>(device, a) : run<Operand, kN, false>(device, a);
  };
  a.shares.slab == 256   ? with.template operator()<256>()
  : a.shares.slab == 128 ? with.template operator()<128>()
                         : with.template operator()<64>();
}

}  // namespace

bool has_tile_products(Device device) { return has_warpgroup_products(device); }

TileShares tile_shares(const RowTiles& tiles, int64_t width, int multiprocessors) {
  TileShares shares;
  // The widest slab that pads no further than a narrower one would.
  shares.slab = width > 128 && ceil_div(width, 256) * 256 <= ceil_div(width, 128) * 128 ? 256
                : width > 64                                                            ? 128
                                                                                        : 64;
  shares.slabs = static_cast<int>(ceil_div(width, shares.slab));
  shares.tiles = static_cast<int>(tiles.num_tiles());
  shares.blocks = std::min(shares.tiles, multiprocessors);
  if (shares.tiles == 0) return shares;
  shares.share = shares.tiles / shares.blocks;
  shares.longer = shares.tiles % shares.blocks;
  return shares;
}

int multiprocessors_beside_rest(const RowTiles& tiles, bool weighted, int multiprocessors) {
  const double entries_of_tile = weighted ? 200.0 : 140.0;
  const double of_tiles = entries_of_tile * static_cast<double>(tiles.num_tiles()),
               of_rest = static_cast<double>(tiles.rest.entries());
  if (of_tiles == 0.0) return 0;
  return std::max(1, static_cast<int>(multiprocessors * of_tiles / (of_tiles + of_rest)));
}

void tile_product(const TileProduct& product) {
  const RowTiles& tiles = product.tiles;
  if (product.shares.blocks == 0) return;
  Arguments a{};
  a.shares = product.shares;
  a.window_of = tiles.window_of.data<int32_t>();
  a.columns = tiles.columns.data<int32_t>();
  a.bits = static_cast<const uint64_t*>(tiles.bits.raw_data());
  a.starts = tiles.starts.data<int32_t>();
  a.values = product.values;
  a.value_scale = product.value_scale;
  a.x = static_cast<const uint16_t*>(product.x);
  a.pitch = product.pitch;
  a.parts = product.parts.mutable_data<float>();
  a.num_windows = tiles.num_windows();
  const Device device = tiles.device();
  product.operand == TileOperand::float16 ? run<float16>(device, a) : run<bfloat16>(device, a);
}

}  // namespace adj::kernels::cuda
