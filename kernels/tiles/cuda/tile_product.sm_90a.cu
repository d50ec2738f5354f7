// Tiles times features on Hopper's tensor cores (tile_product.h). A step of a block is a tile and a slab of
// kN features. One warpgroup, the readers, copies the rows of X that the tile's columns name to shared
// memory, and beside them the tile's bits or values. Two warpgroups, the multipliers, have the tensor cores
// multiply and keep the sums of a window, 128 x kN, in registers. A tile of ones they expand from its bits to
// registers, while the step before is multiplied; a tile of values is expanded to shared memory by the
// readers. Every block has the same number of tiles, whatever the windows.
//
// kStages steps are on their way: the rows of X of all but two are being copied, for L2 is far; one is
// expanded, one multiplied.
//
// Bytes: a row of X for each column of a tile (2 kN bytes, from L2 where windows side by side share columns),
// 8 for each row of a tile or 4 for each entry, all once per slab; 512 kN written per window and slab. A row
// of X serves all rows of the window: a step takes the tensor cores 4 kN cycles (1024 at kN = 256), and L2,
// at its best, not quite as long for 128 kN bytes. Measured, H200, bfloat16: 1890 cycles, of ones. With bits
// and columns by plain reads a step ahead it were 2700: they come from memory, and the fence before the
// tensor cores waits for them.

#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/dense/cuda/tensor_core.cuh>
#include <adjoint/kernels/sparse/cuda/spmm_device.cuh>
#include <adjoint/kernels/tiles/cuda/tile_product.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

#include <algorithm>

namespace adj::kernels::cuda {

namespace {

constexpr int kRows = RowTiles::kRows, kColumns = RowTiles::kColumns;
static_assert(kRows == 128 && kColumns == 64);
constexpr int kMultipliers = 256;  // two warpgroups, for 64 rows of a tile each
constexpr int kReaders = kRows;    // each expands a row
constexpr int kThreads = kMultipliers + kReaders;
// Warpgroups trade the registers that a block is launched with: 168 of each thread, multiples of 8.
constexpr int kMultiplierRegisters = 200, kReaderRegisters = 104;
static_assert(kMultipliers * kMultiplierRegisters + kReaders * kReaderRegisters == 168 * kThreads);

constexpr int kTileBytes = kRows * kRowBytes;  // expanded
/// A panel of 64 features: kColumns rows of 128 bytes.
constexpr int kPanelBytes = kColumns * kRowBytes;
constexpr int kCopiedValues = 2044;
/// What a tile is expanded from: the bits of its rows; or the bounds of its values, then as many of these.
constexpr int kSourceBytes = 16 + kCopiedValues * 4;
constexpr int stage_bytes(int n) { return kTileBytes + n / 64 * kPanelBytes + kSourceBytes; }
static_assert(kSourceBytes % kPatternBytes == 0 && kRows * 8 <= kSourceBytes);
/// As many as fit, and as there are barriers for.
constexpr int stages(int n) { return n == 256 ? 4 : n == 128 ? 5 : 7; }
constexpr int shared_bytes(int n) { return stages(n) * stage_bytes(n) + kPatternBytes; }
static_assert(shared_bytes(256) <= 227 * 1024 && shared_bytes(128) <= 227 * 1024 &&
              shared_bytes(64) <= 227 * 1024);

constexpr unsigned kAllLanes = 0xffffffffu;

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

/// The steps of a block: its tiles, once for each slab.
struct Work {
  int begin, end, tile, slab = 0;

  __device__ explicit Work(const TileShares& shares) {
    const int block = static_cast<int>(blockIdx.x);
    begin = shares.begin(block);
    end = shares.begin(block + 1);
    tile = begin;
  }
  __device__ bool valid(const TileShares& shares) const { return slab < shares.slabs; }
  __device__ void advance() {
    if (++tile < end) return;
    tile = begin;
    ++slab;
  }
};

/// Named barriers: a stage is written, it is read, and the readers' own.
template <int kStages>
struct Barriers {
  static_assert(1 + 2 * kStages <= 15);
  static __device__ __forceinline__ void wait(int barrier) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
  }
  static __device__ __forceinline__ void arrive(int barrier) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
  }
  static __device__ __forceinline__ void wait_until_written(int stage) { wait(1 + stage); }
  static __device__ __forceinline__ void written(int stage) { arrive(1 + stage); }
  static __device__ __forceinline__ void wait_until_read(int stage) { wait(1 + kStages + stage); }
  static __device__ __forceinline__ void read(int stage) { arrive(1 + kStages + stage); }
  static __device__ __forceinline__ void meet_readers() {
    asm volatile("bar.sync %0, %1;" ::"n"(1 + 2 * kStages), "n"(kReaders) : "memory");
  }
};

/// 16 bytes to shared memory, zeros where it is not `there`.
__device__ __forceinline__ void copy_async(uint32_t to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void write_shared(uint32_t to, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}

template <class Operand>
constexpr uint32_t kOne = std::is_same_v<Operand, bfloat16> ? 0x3f80 : 0x3c00;

/// A reader's copies of the rows of X that a tile's columns name: 16 bytes each of kCount rows.
template <int kN>
class RowCopies {
 public:
  __device__ RowCopies(const Arguments& a, int thread)
      : chunk_(thread % kChunks),
        first_row_(thread / kChunks * kCount),
        pitch_(keep(kAllLanes, static_cast<uint32_t>(a.pitch * 2))) {}
  /// Asks for the columns.
  __device__ void find(const Arguments& a, int tile) {
    const auto* from = reinterpret_cast<const int4*>(a.columns + int64_t{tile} * kColumns + first_row_);
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) four_[i] = __ldg(from + i);
  }
  __device__ void begin(const Arguments& a, int slab, uint32_t to) const {
    const int feature = slab * kN + chunk_ * 8;
    const bool there = feature < a.pitch;
    const auto* const x = reinterpret_cast<const char*>(
        keep(kAllLanes, reinterpret_cast<unsigned long long>(a.x + (there ? feature : 0))));
    to += chunk_ / 8 * kPanelBytes + first_row_ * kRowBytes;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int32_t column = i % 4 == 0   ? four_[i / 4].x
                             : i % 4 == 1 ? four_[i / 4].y
                             : i % 4 == 2 ? four_[i / 4].z
                                          : four_[i / 4].w;
      copy_async(to + i * kRowBytes + ((chunk_ % 8) ^ ((first_row_ + i) % 8)) * 16,
                 row_address(x, column, pitch_), there);
    }
  }

 private:
  static constexpr int kChunks = kN / 8;  // of a row
  static constexpr int kCount = kColumns * kChunks / kReaders;
  int chunk_, first_row_;
  uint32_t pitch_;
  int4 four_[kCount / 4];
};

/// A tile of ones: its bits, which multipliers expand to registers themselves.
struct Ones {
  __device__ void find(const Arguments&, int) {}
  __device__ void copy(const Arguments& a, int thread, int tile, uint32_t source) const {
    if (thread < kRows / 2)
      copy_async(source + thread * 16, a.bits + int64_t{tile} * kRows + thread * 2, true);
  }
  template <class Meet>
  __device__ void expand(const Arguments&, int, uint32_t, uint32_t, Meet&&) const {}
};

/// A multiplier's part of a tile of ones, as the tensor cores take it from registers: four words for each 16
/// columns. `bits` holds both of its rows.
template <class Operand>
__device__ __forceinline__ void expand_ones(const uint2 (&bits)[2], int lane, uint32_t (&operand)[4][4]) {
#pragma unroll
  for (int k = 0; k < 4; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint2 row = bits[i % 2];
      const uint32_t half = k < 2 ? row.x : row.y;
      const uint32_t pair = half >> (k % 2 * 16 + i / 2 * 8 + lane % 4 * 2) & 3;
      operand[k][i] = ((pair | pair << 15) & 0x10001u) * kOne<Operand>;
    }
}

/// A tile of values: zeros, then each reader puts some values where they belong.
class Values {
 public:
  /// Asks for the bounds.
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
  template <class Meet>
  __device__ void expand(const Arguments& a, int thread, uint32_t source, uint32_t to, Meet&& meet) const {
#pragma unroll
    for (int i = 0; i < kTileBytes / 16 / kReaders; ++i)
      write_shared(to + (i * kReaders + thread) * 16, 0, 0, 0, 0);
    meet();  // all zeros and all copies are there
    int begin, end;
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(begin), "=r"(end) : "r"(source) : "memory");
    const int copied = min(end - begin, kCopiedValues);
    for (int v = thread * 4; v < copied; v += kStep) {
      uint4 four;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
                   : "r"(source + 16 + v * 4)
                   : "memory");
      put(to, four);
    }
    for (int v = begin + copied + thread * 4; v < end; v += kStep)
      put(to, __ldg(reinterpret_cast<const uint4*>(a.values + v)));
  }

 private:
  static_assert(kCopiedValues % 4 == 0);
  static constexpr int kStep = kReaders * 4;
  static __device__ void put(uint32_t to, const uint4& four) {
#pragma unroll
    for (uint32_t value : {four.x, four.y, four.z, four.w})
      if (value >> 16 != kNoPlace)
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(to + (value >> 16) * 2),
                     "h"(static_cast<uint16_t>(value))
                     : "memory");
  }
  int begin_ = 0, end_ = 0;
};

template <class Operand, int kN, bool kWeighted>
__device__ void read_tiles(const Arguments& a, uint32_t shared) {
  constexpr int kStages = stages(kN), kAhead = kStages - 2;
  constexpr int kSource = stage_bytes(kN) - kSourceBytes;
  using Stage = Barriers<kStages>;
  const int thread = static_cast<int>(threadIdx.x) - kMultipliers;
  Work work(a.shares);
  RowCopies<kN> rows(a, thread);
  std::conditional_t<kWeighted, Values, Ones> tile;
  const auto find = [&] {
    if (!work.valid(a.shares)) return;
    rows.find(a, work.tile);
    tile.find(a, work.tile);
  };
  find();
  int copied = 0, stage = 0, expanded = 0, to_expand = 0;
  for (int round = 0; work.valid(a.shares) || expanded < copied; ++round) {
    if (work.valid(a.shares)) {
      if (copied >= kStages) Stage::wait_until_read(stage);
      const uint32_t to = shared + stage * stage_bytes(kN);
      rows.begin(a, work.slab, to + kTileBytes);
      tile.copy(a, thread, work.tile, to + kSource);
      work.advance();
      find();
      ++copied;
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (round < kAhead) continue;
    asm volatile("cp.async.wait_group %0;" ::"n"(kAhead) : "memory");
    const uint32_t at = shared + to_expand * stage_bytes(kN);
    tile.expand(a, thread, at + kSource, at, [] { Stage::meet_readers(); });
    publish_to_tensor_cores();
    Stage::written(to_expand);
    to_expand = to_expand + 1 == kStages ? 0 : to_expand + 1;
    ++expanded;
  }
  // What multipliers hand back last is taken, so that all barriers end as they began.
  for (int i = 0; i < min(copied, kStages); ++i) Stage::wait_until_read(i);
}

/// A window's tiles in one slab, as far as one block has them.
struct Part {
  int first, end;  ///< tiles
  int64_t at;      ///< in parts
  int feature;
};

/// Those sums of the thread that are not finite, once more, over their own entries.
template <class Operand, int kN, bool kWeighted>
__device__ __noinline__ void sum_again(const Arguments& a, const Part& part, float* sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int i = 0; i < kN / 2; ++i) {
    const int row = warp * 16 + lane / 4 + (i / 2 % 2) * 8;
    const int feature = part.feature + i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (isfinite(sums[i]) || feature >= a.pitch) continue;
    float sum = 0;
    for (int tile = part.first; tile < part.end; ++tile) {
      const int64_t at = int64_t{tile} * kRows + row;
      uint64_t bits = a.bits[at];
      for (int v = a.starts[at]; bits != 0; bits &= bits - 1, ++v) {
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
__device__ void multiply_all(const Arguments& a, uint32_t shared) {
  using Stage = Barriers<stages(kN)>;
  float sum[kN / 2];
#pragma unroll
  for (int i = 0; i < kN / 2; ++i) sum[i] = 0;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const uint32_t own = static_cast<uint32_t>(warp / 4) * 64 * kRowBytes;
  const float scale = a.value_scale != nullptr ? __ldg(a.value_scale) : 1.0f;
  Work work(a.shares), after = work;
  after.advance();
  // Of this step, the next one and, asked for meanwhile, the one after it.
  int window = __ldg(a.window_of + work.tile), next_window = __ldg(a.window_of + after.tile);
  int stage = 0, first = work.tile;  // first: of the window, in this block
  [[maybe_unused]] uint2 bits[2];
  [[maybe_unused]] const auto read_bits = [&](uint32_t at) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
      asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                   : "=r"(bits[i].x), "=r"(bits[i].y)
                   : "r"(at + stage_bytes(kN) - kSourceBytes + (warp * 16 + lane / 4 + i * 8) * 8)
                   : "memory");
  };
  for (; work.valid(a.shares); stage = stage + 1 == stages(kN) ? 0 : stage + 1) {
    const int tile = work.tile, slab = work.slab;
    const bool last_tile = tile + 1 == work.end;
    after.advance();
    const int second_window = __ldg(a.window_of + after.tile);
    const uint32_t operands = shared + stage * stage_bytes(kN);
    if (kWeighted || tile == work.begin && slab == 0) Stage::wait_until_written(stage);
    if constexpr (kWeighted) {
      begin_products();
#pragma unroll
      for (int k = 0; k < kColumns / 16; ++k)
        multiply_tiles<false, true, Operand>(
            sum, describe_tile(operands + own + k * 32, kPanelBytes),
            describe_tile(operands + kTileBytes + k * 16 * kRowBytes, kPanelBytes), k > 0 || tile != first);
      end_products();
    } else {
      if (tile == work.begin && slab == 0) read_bits(operands);
      uint32_t operand[kColumns / 16][4];
      expand_ones<Operand>(bits, lane, operand);
      begin_products();
#pragma unroll
      for (int k = 0; k < kColumns / 16; ++k)
        multiply_tiles<true, Operand>(sum, operand[k],
                                      describe_tile(operands + kTileBytes + k * 16 * kRowBytes, kPanelBytes),
                                      k > 0 || tile != first);
      end_products();
      // The next tile's bits, meanwhile: it is there before this one is handed back.
      Work next = work;
      next.advance();
      if (next.valid(a.shares)) {
        const int next_stage = stage + 1 == stages(kN) ? 0 : stage + 1;
        Stage::wait_until_written(next_stage);
        read_bits(shared + next_stage * stage_bytes(kN));
      }
    }
    wait_for_products();
    Stage::read(stage);
    work.advance();
    const bool ends = next_window != window || last_tile;
    const int own_window = window;
    window = next_window;
    next_window = second_window;
    if (!ends) continue;
    const bool begun_before = first > 0 && __ldg(a.window_of + first - 1) == own_window;
    const Part part{first, tile + 1, begun_before ? a.num_windows + blockIdx.x : own_window, slab * kN};
    if (!all_finite(sum)) {
      float copy[kN / 2];  // so that the sums stay in registers elsewhere
#pragma unroll
      for (int i = 0; i < kN / 2; ++i) copy[i] = sum[i];
      sum_again<Operand, kN, kWeighted>(a, part, copy);
#pragma unroll
      for (int i = 0; i < kN / 2; ++i) sum[i] = copy[i];
    }
    float* const upper =
        a.parts + (part.at * kRows + warp * 16 + lane / 4) * a.pitch + part.feature + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) {
      if (part.feature + j * 8 >= a.pitch) break;
      float* const to = upper + j * 8;
      // Read once, by another kernel, and in the way of X in L2 until then.
      __stcs(reinterpret_cast<float2*>(to), float2{sum[j * 4] * scale, sum[j * 4 + 1] * scale});
      __stcs(reinterpret_cast<float2*>(to + 8 * a.pitch),
             float2{sum[j * 4 + 2] * scale, sum[j * 4 + 3] * scale});
    }
    first = work.tile;
  }
}

template <class Operand, int kN, bool kWeighted>
__global__ void __launch_bounds__(kThreads, 1) tile_product_kernel(const __grid_constant__ Arguments a) {
  adj::cuda::begin_overlapping();
  extern __shared__ unsigned char raw[];
  const auto before = static_cast<uint32_t>(__cvta_generic_to_shared(raw));
  const uint32_t shared = (before + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  if (threadIdx.x >= kMultipliers) {
    give_registers<kReaderRegisters>();
    read_tiles<Operand, kN, kWeighted>(a, shared);
  } else {
    take_registers<kMultiplierRegisters>();
    multiply_all<Operand, kN, kWeighted>(a, shared);
  }
}

template <class Operand, int kN, bool kWeighted>
void run(Device device, const Arguments& a) {
  const auto kernel = tile_product_kernel<Operand, kN, kWeighted>;
  adj::cuda::use_device(device.index);  // the attribute is one of the kernel on this device
  ADJ_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes(kN)));
  adj::cuda::launch("tile_product",
                    {.device = device.index,
                     .blocks = static_cast<unsigned>(a.shares.blocks),
                     .threads = kThreads,
                     .shared_bytes = shared_bytes(kN),
                     .overlaps = true},
                    kernel, a);
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

bool has_tile_products(Device device) {
  if (!device.is_cuda()) return false;
  const auto& properties = adj::cuda::properties(device.index);
  return properties.major == 9 && properties.minor == 0;
}

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
