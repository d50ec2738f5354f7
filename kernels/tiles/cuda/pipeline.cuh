#pragma once

// Pipeline shared by the kernels over tiles. A block has reader warps, which copy the rows of a tile's
// columns to shared memory (cp.async) some steps ahead, and two multiplier warpgroups, each for 64 rows of a
// window. A step is a tile and a slab of features, or a head. Every block has the same number of tiles,
// regardless of the windows (TileShares).

#include <adjoint/core/cuda/beside.cuh>
#include <adjoint/kernels/aggregate/cuda/spmm_device.cuh>
#include <adjoint/kernels/cuda/mbarrier.cuh>
#include <adjoint/kernels/dense/cuda/tensor_core.cuh>
#include <adjoint/kernels/tiles/cuda/tile_product.h>

#include <type_traits>

namespace adj::kernels::cuda {

inline constexpr int kTileRows = RowTiles::kRows, kTileColumns = RowTiles::kColumns;
static_assert(kTileRows == 128 && kTileColumns == 64);
inline constexpr int kMultipliers = 256;  // two warpgroups

/// Bytes of a panel of 64 features: one row of 128 bytes per tile column.
inline constexpr int kPanelBytes = kTileColumns * kRowBytes;

inline constexpr unsigned kAllLanes = 0xffffffffu;

/// The steps of a block: its tiles, repeated for each slab.
struct TileSteps {
  int begin, end, tile, slab = 0;

  __device__ explicit TileSteps(const TileShares& shares) {
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

/// Ring of shared-memory stages between readers and multipliers, each a few steps ahead of the other, with
/// two mbarriers per stage. Readers and multipliers advance their own rings in step. Unlike named barriers,
/// mbarriers let one multiplier warpgroup run ahead, so that it computes while the tensor cores work for the
/// other.
template <int kStages, int kArrivals>
class StageRing {
 public:
  /// `barriers`: 16 kStages bytes of shared memory. All threads of the block, before anything else.
  static __device__ void initialize(uint32_t barriers) {
    if (threadIdx.x == 0)
      for (int s = 0; s < kStages; ++s) {
        initialize_barrier(barriers + s * 8, kArrivals);
        initialize_barrier(barriers + (kStages + s) * 8, kMultipliers / 32);
      }
    __syncthreads();
  }
  __device__ explicit StageRing(uint32_t barriers) : barriers_(barriers) {}
  __device__ int stage() const { return stage_; }
  __device__ void advance() {
    if (++stage_ < kStages) return;
    stage_ = 0;
    round_ ^= 1;
  }
  /// Called by multipliers for this stage. Also makes the data visible to the tensor cores; the fence is on
  /// this side, as it would make a reader wait for all its copies in flight.
  __device__ void wait_until_written() const {
    wait_for_barrier(barriers_ + stage_ * 8, round_);
    publish_to_tensor_cores();
  }
  /// Called by readers, per warp (kArrivals: their warps), once their data is written.
  __device__ void written() const { arrive_by_warp(barriers_ + stage_ * 8); }
  /// Called by each reader thread (kArrivals: their number), without waiting: arrives once its copies are
  /// complete.
  __device__ void written_by_copies() const {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barriers_ + stage_ * 8)
                 : "memory");
  }
  /// Called by readers before writing a stage; returns at once in the first round. read(): called by
  /// multipliers, per warp.
  __device__ void wait_until_read() const {
    wait_for_barrier(barriers_ + (kStages + stage_) * 8, round_ ^ 1);
  }
  __device__ void read() const { read(stage_); }
  __device__ void read(int stage) const { arrive_by_warp(barriers_ + (kStages + stage) * 8); }

 private:
  uint32_t barriers_, round_ = 0;
  int stage_ = 0;
};

/// Calls step(s, 0), step(s, 1), step(s, 0) … for all steps s of a block, and ask(s, i) two steps ahead, so
/// that the loads of odd and even steps can stay in separate registers until they arrive.
template <class Ask, class Step>
__device__ __forceinline__ void for_each_step(const TileShares& shares, Ask&& ask, Step&& step) {
  TileSteps steps(shares), ahead = steps;
  const auto ask_ahead = [&](auto i) {
    if (ahead.valid(shares)) ask(ahead, i);
    ahead.advance();
  };
  const auto take_step = [&](auto i) {
    if (!steps.valid(shares)) return false;
    step(steps, i);
    steps.advance();
    ask_ahead(i);
    return true;
  };
  constexpr std::integral_constant<int, 0> kEven;
  constexpr std::integral_constant<int, 1> kOdd;
  ask_ahead(kEven);
  ask_ahead(kOdd);
  while (take_step(kEven) && take_step(kOdd)) {
  }
}

/// The dynamic shared memory of a block, aligned to a whole pattern.
__device__ __forceinline__ uint32_t patterned_shared() {
  extern __shared__ unsigned char raw[];
  const auto begin = static_cast<uint32_t>(__cvta_generic_to_shared(raw));
  return (begin + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
}

/// Launches a kernel over tiles, one block per share; its Shape has threads and shared memory.
template <class Shape, class Arguments>
void launch_over_tiles(const char* name, Device device, void (*kernel)(Arguments), const Arguments& a) {
  const DeviceScope scope(device.index);  // the attribute is per kernel and device
  ADJ_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kSharedBytes));
  launch(name, overlapping(device.index, grid(a.shares.blocks), Shape::kThreads, Shape::kSharedBytes), kernel,
         a);
}

/// Barrier of the readers, or of a warpgroup; `barrier` 1 to 15.
template <int kThreads>
__device__ __forceinline__ void meet(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
}

/// Copies 16 bytes to shared memory, zeros if not `valid`.
__device__ __forceinline__ void copy_async(uint32_t destination, const void* source, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source),
               "r"(valid ? 16 : 0)
               : "memory");
}
/// The same for kWords of 4 bytes.
template <int kWords>
__device__ __forceinline__ void copy_words_async(uint32_t destination, const void* source) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(destination), "l"(source), "n"(kWords * 4)
               : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for this thread's copies but the last kCount groups.
template <int kCount>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kCount) : "memory");
}

/// A thread's copies of the rows named by a tile's columns: of kFeatures features, 16 bytes of each of kCount
/// rows, to panels of 64 features.
template <int kFeatures, int kReaders>
class RowCopies {
 public:
  __device__ explicit RowCopies(int thread)
      : chunk_(thread % kChunks), first_row_(thread / kChunks * kCount) {}
  /// Loads the column indices.
  __device__ void find(const int32_t* columns, int tile) {
    const auto* source = reinterpret_cast<const int4*>(columns + int64_t{tile} * kTileColumns + first_row_);
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) four_[i] = __ldg(source + i);
  }
  /// First feature of a slab copied by this thread.
  __device__ int feature() const { return chunk_ * 8; }
  /// `x`: the slab's rows, `pitch` bytes per row; zeros for features that are not `valid`.
  __device__ void begin(const uint16_t* x, uint32_t pitch, bool valid, uint32_t destination) const {
    const char* const source = keep_address(kAllLanes, x + (valid ? feature() : 0));
    destination += chunk_ / 8 * kPanelBytes + first_row_ * kRowBytes;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int32_t column = i % 4 == 0   ? four_[i / 4].x
                             : i % 4 == 1 ? four_[i / 4].y
                             : i % 4 == 2 ? four_[i / 4].z
                                          : four_[i / 4].w;
      copy_async(destination + i * kRowBytes + ((chunk_ % 8) ^ ((first_row_ + i) % 8)) * 16,
                 row_address(source, column, pitch), valid);
    }
  }

 private:
  static constexpr int kChunks = kFeatures / 8;  // per row
  static constexpr int kCount = kTileColumns * kChunks / kReaders;
  static_assert(kCount % 4 == 0);
  int chunk_, first_row_;
  int4 four_[kCount / 4];
};

/// A multiplier's bits of a tile: of its row and the row 8 below.
struct TileBits {
  uint2 row[2];

  /// From shared memory, 8 bytes per row of the tile.
  __device__ __forceinline__ void read(uint32_t address) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                   : "=r"(row[i].x), "=r"(row[i].y)
                   : "r"(address + (warp * 16 + lane / 4 + i * 8) * 8)
                   : "memory");
  }
};

/// Index of the multiplier warpgroup, warp-uniform to the compiler.
__device__ __forceinline__ int warpgroup_of_multipliers() {
  return __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / 128, 0);
}

/// Copies the bits of a tile's rows, by the first 64 threads.
__device__ __forceinline__ void copy_bits(const uint64_t* bits, int tile, int thread, uint32_t destination) {
  if (thread < kTileRows / 2)
    copy_async(destination + thread * 16, bits + int64_t{tile} * kTileRows + thread * 2, true);
}

/// A multiplier warpgroup copies its 64 rows of a window: kFeatures features from `x` on, of which `width`
/// exist, to panels of 64 features.
template <int kFeatures>
__device__ __forceinline__ void copy_window(const uint16_t* x, int window, int rows, int pitch, int width,
                                            int warpgroup, uint32_t destination) {
  constexpr int kChunks = kFeatures / 8;
  const int thread = static_cast<int>(threadIdx.x) % 128;
#pragma unroll
  for (int i = 0; i < kChunks / 2; ++i) {
    const int row = warpgroup * 64 + (i * 128 + thread) / kChunks, chunk = thread % kChunks;
    const int64_t node = int64_t{window} * kTileRows + row;
    const bool valid = node < rows && chunk * 8 < width;
    copy_async(destination + chunk / 8 * (kTileRows * kRowBytes) + swizzled(row, chunk % 8),
               x + (valid ? node * pitch + chunk * 8 : 0), valid);
  }
}

}  // namespace adj::kernels::cuda
