// Float32 products on Hopper's tensor cores (float32_products.h). A block computes tiles of 128 x kN of C in
// turn, in chunks of 64 along K. Half of its threads (readers) load chunks of both operands, split them and
// write the parts to shared memory; the other half (multipliers) issue the tensor-core products and
// accumulate. Two chunks are in shared memory, a third is in flight. Operands keep their global-memory layout
// there, with rows along K or along their outer extent: the tensor cores accept both.
//
// Bound: six bfloat16 products for one, a sixth of the tensor cores' 989 TFLOP/s on an H200. Shared memory
// saturates first, 80 % busy when the tensor cores are 55 %: tiles of both operands are written there once
// and read by six products of 64 rows each. With all threads both reading and multiplying, a product of
// 169343 x 256 x 256 ran at 67 TFLOP/s instead of 87. Tried without gain and not kept: A split into registers
// (its reader waits for its own products), loads bypassing L1, chunks prefetched to L2, two float16 parts of
// numbers scaled by a power of two (finding the range serializes loading and splitting), and Stream-K's
// sharing of the last tiles (Osama et al. 2023), whose gain the next kernel fills anyway.
#include <adjoint/core/allocator.h>
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/dense/cuda/float32_products.h>
#include <adjoint/kernels/dense/cuda/tensor_core.cuh>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kMultipliers = 256;  // two warpgroups, each for 64 rows of a tile
constexpr int kReaders = 256;
constexpr int kThreads = kMultipliers + kReaders;
// Of an SM's 65536 registers: accumulators and a chunk's sums for multipliers, a chunk of loaded numbers for
// readers.
constexpr int kMultiplierRegisters = 160, kReaderRegisters = 96;
static_assert(kMultipliers * kMultiplierRegisters + kReaders * kReaderRegisters == 65536);
constexpr int kM = 128, kK = 64;
constexpr int kParts = 3;
constexpr int kStages = 2;

/// Bytes of one part of a tile of `outer` x kK.
constexpr int part_bytes(int outer) { return outer * kK * 2; }
constexpr int stage_bytes(int n) { return kParts * (part_bytes(kM) + part_bytes(n)); }
constexpr int shared_bytes(int n) { return kStages * stage_bytes(n) + kPatternBytes; }
/// Rows of C whose addresses allow no pairs go through shared memory, eight of each warp at a time, with a
/// pitch that spreads them over all banks.
constexpr int kStagedRows = 8;
constexpr int staged_pitch(int n) { return n + 8; }
constexpr int staged_bytes(int n) { return kMultipliers / 32 * kStagedRows * staged_pitch(n) * 4; }
static_assert(shared_bytes(128) + staged_bytes(128) <= 227 * 1024);

struct Operand {
  const float* numbers;
  int64_t outer, inner;  ///< along M or N, and along K
  bool wide;             ///< can its rows be read 16 bytes at a time?
};

struct SplitArguments {
  Operand a, b;
  const float* bias;
  const float* relu_of;  ///< [M,N]: output of the relu whose gradient is fused into C; or null
  float* sums;           ///< [splits, sum_groups, N]: Σ over rows of B; or null
  float* c;              ///< [M,N], or [splits,M,N]
  int64_t m, n;
  int tiles, n_tiles, units;  ///< units: tiles times splits of K
  int chunks, longer_splits;  ///< per split; the first `longer_splits` have one more
  bool relu, adds;            ///< adds: accumulates into c
  bool pairs;                 ///< can rows of c be written 8 bytes at a time?
};

/// Threads that sum the same columns over rows of B: each writes its own sums.
constexpr int sum_groups(int n) { return kReaders / (n / 4); }

/// Chunk and tile of a step: units are (split, tile of M, tile of N), and those of adjacent blocks share rows
/// of A.
struct Work {
  int unit;
  int chunk, end, split;
  int64_t m, n;  ///< start of the tile

  __device__ void begin(const SplitArguments& a, int tile_n, int index) {
    unit = index;
    if (!valid(a)) return;
    // Few divisions, all 32-bit: all threads wait for them between two tiles.
    split = index / a.tiles;
    const int tile = index - split * a.tiles, m_tile = tile / a.n_tiles;
    m = int64_t{m_tile} * kM;
    n = int64_t{tile - m_tile * a.n_tiles} * tile_n;
    chunk = split * a.chunks + min(split, a.longer_splits);
    end = chunk + a.chunks + (split < a.longer_splits ? 1 : 0);
  }
  __device__ bool valid(const SplitArguments& a) const { return unit < a.units; }
  __device__ bool last() const { return chunk + 1 == end; }
  __device__ void advance(const SplitArguments& a, int tile_n) {
    if (!last())
      ++chunk;
    else
      begin(a, tile_n, unit + static_cast<int>(gridDim.x));
  }
};

/// Splits two numbers into pairs of bfloat16 parts. The first part is truncated rather than rounded, so that
/// no finite number gives an infinite part; the remainder of 24 bits after the second fits the third, unless
/// it ends below 2^-133, the smallest bfloat16 number.
__device__ __forceinline__ void split(float x, float y, uint32_t& first, uint32_t& second, uint32_t& third) {
  const auto lower = [](uint32_t pair) { return __uint_as_float(pair << 16); };
  const auto upper = [](uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); };
  const auto upper_halves = [](float a, float b) {
    return __byte_perm(__float_as_uint(a), __float_as_uint(b), 0x7632);
  };
  first = upper_halves(x, y);
  x -= lower(first);
  y -= upper(first);
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(second) : "f"(y), "f"(x));
  third = upper_halves(x - lower(second), y - upper(second));
}

/// Operands are multiplied by kRaise before they are split: then even the last bit of a denormal number,
/// 2^-149, is a bfloat16 number, and no bits are lost. Numbers from 2^112 on become infinite, and sums of
/// products from 2^96 on may: repair_sums() handles these.
constexpr float kRaise = 0x1p16f;

/// A tile of kOuter x kK of an operand, four adjacent elements at a time. kOuterRows: its rows in memory run
/// along its outer extent. kWide: those of both operands can be read 16 bytes at a time; else an operand says
/// if its own can.
template <int kOuter, bool kOuterRows, bool kWide>
class Tile {
 public:
  /// `from_outer`, `from_inner`: start of the tile. Elements beyond the operand are zero.
  __device__ void read(int thread, const Operand& x, int64_t from_outer, int64_t from_inner) {
    Window window(thread, x, from_outer, from_inner);
#pragma unroll
    for (int i = 0; i < kCount; ++i) quads_[i] = window.next(i);
  }
  /// Sum of its rows, if they run along the outer extent.
  __device__ float4 sum_of_rows() const {
    static_assert(kOuterRows);
    float4 sum = quads_[0];
#pragma unroll
    for (int i = 1; i < kCount; ++i) {
      sum.x += quads_[i].x;
      sum.y += quads_[i].y;
      sum.z += quads_[i].z;
      sum.w += quads_[i].w;
    }
    return sum;
  }
  /// Writes its scaled parts to shared memory.
  __device__ void write(int thread, uint32_t shared) const {
    const uint32_t destination = shared + place(thread);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      uint2 first, second, third;
      split(quads_[i].x * kRaise, quads_[i].y * kRaise, first.x, second.x, third.x);
      split(quads_[i].z * kRaise, quads_[i].w * kRaise, first.y, second.y, third.y);
      write_part(destination, i, 0, first);
      write_part(destination, i, 1, second);
      write_part(destination, i, 2, third);
    }
  }

 private:
  static constexpr int kQuads = (kOuterRows ? kOuter : kK) / 4;  // per row
  static constexpr int kStep = kReaders / kQuads;                // rows between a thread's consecutive quads
  static constexpr int kCount = (kOuterRows ? kK : kOuter) / kStep;
  static_assert(kStep % 8 == 0);  // so that a thread's quads share their position in the pattern

  /// A thread's quads of a tile, in order.
  class Window {
   public:
    __device__ Window(int thread, const Operand& x, int64_t from_outer, int64_t from_inner) {
      const int64_t rows = kOuterRows ? x.inner : x.outer, columns = kOuterRows ? x.outer : x.inner;
      const int64_t row = (kOuterRows ? from_inner : from_outer) + thread / kQuads;
      const int64_t column = (kOuterRows ? from_outer : from_inner) + thread % kQuads * 4;
      source_ = x.numbers + row * columns + column;
      step_ = kStep * columns;
      wide_ = x.wide;
      columns_ = static_cast<int>(min(columns - column, int64_t{4}));
      rows_ = columns_ > 0 ? static_cast<int>(min(rows - row, int64_t{kCount * kStep})) : 0;
    }
    /// The ith. Branch-free loads: there are many, and little other work meanwhile.
    __device__ float4 next(int i) {
      const float* const source = source_;
      source_ += step_;
      float4 quad = {0, 0, 0, 0};
      if (kWide || wide_) {
        asm volatile(
            "{\n.reg .pred there;\nsetp.ne.b32 there, %5, 0;\n"
            "@there ld.global.v4.f32 {%0, %1, %2, %3}, [%4];\n}"
            : "+f"(quad.x), "+f"(quad.y), "+f"(quad.z), "+f"(quad.w)
            : "l"(source), "r"(int{i * kStep < rows_}));
      } else {
        const int count = i * kStep < rows_ ? columns_ : 0;
        read(source, count > 0, quad.x);
        read(source + 1, count > 1, quad.y);
        read(source + 2, count > 2, quad.z);
        read(source + 3, count > 3, quad.w);
      }
      return quad;
    }

   private:
    static __device__ void read(const float* source, bool valid, float& number) {
      asm volatile("{\n.reg .pred there;\nsetp.ne.b32 there, %2, 0;\n@there ld.global.f32 %0, [%1];\n}"
                   : "+f"(number)
                   : "l"(source), "r"(int{valid}));
    }
    const float* source_;
    int64_t step_;
    int rows_, columns_;
    bool wide_;
  };

  static __device__ int place(int thread) {
    const int row = thread / kQuads, quad = thread % kQuads;
    constexpr int kPanel = kK * kRowBytes;  // 64 along the outer extent, if rows run along it
    return (kOuterRows ? quad / 16 * kPanel : 0) + swizzled(row, quad % 16 / 2) + quad % 2 * 8;
  }
  static __device__ void write_part(uint32_t destination, int i, int part, uint2 numbers) {
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(destination + i * kStep * kRowBytes +
                                                          part * part_bytes(kOuter)),
                 "r"(numbers.x), "r"(numbers.y)
                 : "memory");
  }
  float4 quads_[kCount];
};

template <int kN, bool kOuterA, bool kOuterB>
__device__ void multiply_chunk(float (&sum)[kN / 2], uint32_t shared) {
  // Stride of 16 along K, and between the warpgroups' 64 rows of A.
  constexpr int kStepA = kOuterA ? 16 * kRowBytes : 32, kStepB = kOuterB ? 16 * kRowBytes : 32;
  constexpr int kPanel = kK * kRowBytes;
  // The products of parts that are accumulated, small ones first.
  constexpr int kProducts = 6, kPartOfA[kProducts] = {2, 0, 1, 1, 0, 0},
                kPartOfB[kProducts] = {0, 2, 1, 0, 1, 0};
  const uint32_t a = shared + threadIdx.x / 128 * kPanel, b = shared + kParts * part_bytes(kM);
  begin_products();
#pragma unroll
  for (int part = 0; part < kProducts; ++part)
#pragma unroll
    for (int k = 0; k < kK / 16; ++k)
      multiply_tiles<kOuterA, kOuterB>(
          sum, describe_tile(a + kPartOfA[part] * part_bytes(kM) + k * kStepA, kPanel),
          describe_tile(b + kPartOfB[part] * part_bytes(kN) + k * kStepB, kPanel), part + k > 0);
  end_products();
}

/// Calls f(row, column, i) for the pairs of adjacent elements of C, from `column` on, that the thread holds
/// in sum[i] and sum[i + 1].
template <int kN, class F>
__device__ __forceinline__ void for_pairs(const SplitArguments& a, const Work& work, F&& f) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t first_row = work.m + warp * 16 + lane / 4, first_column = work.n + lane % 4 * 2;
#pragma unroll
  for (int j = 0; j < kN / 8; ++j)
#pragma unroll
    for (int below = 0; below < 2; ++below) {
      const int64_t row = first_row + below * 8, column = first_column + j * 8;
      if (row < a.m && column < a.n) f(row, column, j * 4 + below * 2);
    }
}

/// Recomputes non-finite `sums` by float32 additions, chunk by chunk, so that values beyond the tensor cores'
/// range give the float32 result, finite or not.
template <int kN, bool kOuterA, bool kOuterB>
__device__ __noinline__ void repair_sums(const SplitArguments& a, const Work& work, float* sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t first = (int64_t{work.split} * a.chunks + min(work.split, a.longer_splits)) * kK;
  const int64_t end = min(int64_t{work.end} * kK, a.a.inner);
#pragma unroll 1
  for (int i = 0; i < kN / 2; ++i) {  // in the order of for_pairs
    const int64_t row = work.m + warp * 16 + lane / 4 + i / 2 % 2 * 8,
                  column = work.n + lane % 4 * 2 + i / 4 * 8 + i % 2;
    if (isfinite(sums[i]) || row >= a.m || column >= a.n) continue;
    const float* x = a.a.numbers + (kOuterA ? first * a.a.outer + row : row * a.a.inner + first);
    const float* y = a.b.numbers + (kOuterB ? first * a.b.outer + column : column * a.b.inner + first);
    float sum = 0;
#pragma unroll 1
    for (int64_t k = first; k < end; k += kK) {
      float chunk = 0;
#pragma unroll 1
      for (int64_t inner = k; inner < min(k + kK, end); ++inner) {
        chunk = fmaf(*x, *y, chunk);
        x += kOuterA ? a.a.outer : 1;
        y += kOuterB ? a.b.outer : 1;
      }
      sum += chunk;
    }
    sums[i] = sum;
  }
}

/// sum = f(sum, x) with x [M,N] at C's tile: all loads of x are issued before the first use and before any
/// store.
template <int kN, class F>
__device__ void combine_with_tile(const SplitArguments& a, const Work& work, const float* x,
                                  float (&sum)[kN / 2], F&& f) {
  float2 held[kN / 4] = {};
  if (a.pairs) {
    for_pairs<kN>(a, work, [&](int64_t row, int64_t column, int i) {
      held[i / 2] = *reinterpret_cast<const float2*>(x + row * a.n + column);
    });
  } else {
    for_pairs<kN>(a, work, [&](int64_t row, int64_t column, int i) {
      const float* const input = x + row * a.n + column;
      held[i / 2] = {input[0], column + 1 < a.n ? input[1] : 0.0f};
    });
  }
#pragma unroll
  for (int i = 0; i < kN / 4; ++i) {
    sum[2 * i] = f(sum[2 * i], held[i].x);
    sum[2 * i + 1] = f(sum[2 * i + 1], held[i].y);
  }
}

/// Gradient through a relu with output `y`, as in activate_backward.
__device__ __forceinline__ float through_relu(float gradient, float y) {
  return gradient * (y > 0.0f ? 1.0f : 0.0f);
}

/// sum = act(sum + C + bias), through the fused relu gradient. The bias is loaded up front: between stores,
/// each load would stall.
template <int kN>
__device__ void finish_tile(const SplitArguments& a, const Work& work, float (&sum)[kN / 2]) {
  if (a.adds) combine_with_tile<kN>(a, work, a.c, sum, [](float x, float y) { return x + y; });
  if (a.bias != nullptr) {
    const int64_t first_column = work.n + static_cast<int>(threadIdx.x) % 4 * 2;
    float2 bias[kN / 8] = {};
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) {
      const int64_t column = first_column + j * 8;
      if (column < a.n) bias[j].x = a.bias[column];
      if (column + 1 < a.n) bias[j].y = a.bias[column + 1];
    }
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) sum[i] += i % 2 == 0 ? bias[i / 4].x : bias[i / 4].y;
  }
  if (a.relu) {
#pragma unroll
    for (float& value : sum) value = value < 0.0f ? 0.0f : value;  // NaN propagates
  }
  if (a.relu_of != nullptr) combine_with_tile<kN>(a, work, a.relu_of, sum, through_relu);
}

/// Writes a tile 32 adjacent numbers of a row at a time, whatever the rows' addresses.
template <int kN>
__device__ void write_staged(const SplitArguments& a, const Work& work, const float (&sum)[kN / 2],
                             float* staged, float* c) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  constexpr int kPitch = staged_pitch(kN);
  float* const rows = staged + warp * kStagedRows * kPitch;
  float* const mine = rows + lane / 4 * kPitch + lane % 4 * 2;
#pragma unroll
  for (int below = 0; below < 2; ++below) {
    __syncwarp();  // the rows before are read
#pragma unroll
    for (int j = 0; j < kN / 8; ++j)
      *reinterpret_cast<float2*>(mine + j * 8) = {sum[j * 4 + below * 2], sum[j * 4 + below * 2 + 1]};
    __syncwarp();
#pragma unroll 1
    for (int r = 0; r < kStagedRows; ++r) {
      const int64_t row = work.m + warp * 16 + below * kStagedRows + r;
      if (row >= a.m) break;
#pragma unroll
      for (int column = lane; column < kN; column += 32)
        if (work.n + column < a.n) c[row * a.n + work.n + column] = rows[r * kPitch + column];
    }
  }
}

template <int kN>
__device__ void write_tile(const SplitArguments& a, const Work& work, const float (&sum)[kN / 2],
                           float* staged) {
  float* const c = a.c + work.split * a.m * a.n;
  if (!a.pairs) return write_staged<kN>(a, work, sum, staged, c);
  if (work.m + kM <= a.m && work.n + kN <= a.n) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    float* const upper = c + (work.m + warp * 16 + lane / 4) * a.n + work.n + lane % 4 * 2;
    float* const lower = upper + 8 * a.n;
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) {
      *reinterpret_cast<float2*>(upper + j * 8) = {sum[j * 4], sum[j * 4 + 1]};
      *reinterpret_cast<float2*>(lower + j * 8) = {sum[j * 4 + 2], sum[j * 4 + 3]};
    }
    return;
  }
  for_pairs<kN>(a, work, [&](int64_t row, int64_t column, int i) {
    *reinterpret_cast<float2*>(c + row * a.n + column) = {sum[i], sum[i + 1]};
  });
}

/// Handover of chunks between a block's readers and multipliers, by the barriers 1 to 4.
class Stage {
 public:
  __device__ void next() {
    index_ ^= 1;
    ++count_;
  }
  __device__ int at() const { return index_; }
  __device__ int count() const { return count_; }
  __device__ void wait_until_written() const { wait(1 + index_); }
  __device__ void wait_until_read() const { wait(3 + index_); }
  __device__ void written() const { arrive(1 + index_); }
  __device__ void read() const { arrive(3 + index_); }

 private:
  static __device__ void wait(int barrier) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
  }
  static __device__ void arrive(int barrier) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
  }
  int index_ = 0, count_ = 0;
};

/// A reader's sums over rows of B, for the four columns of its quads, in the first tile of each column of
/// tiles: the others read the same.
class RowSums {
 public:
  __device__ void begin(const SplitArguments& a, const Work& work) {
    wanted_ = work.valid(a) && work.m == 0;
    last_ = work.last();
    split_ = work.split;
    n_ = work.n;
  }
  template <int kN, class TileB>
  __device__ void add(const SplitArguments& a, int thread, const TileB& tile) {
    if (!wanted_) return;
    const float4 more = tile.sum_of_rows();
    sum_ = {sum_.x + more.x, sum_.y + more.y, sum_.z + more.z, sum_.w + more.w};
    if (!last_) return;
    constexpr int kQuads = kN / 4;
    const int64_t column = n_ + thread % kQuads * 4;
    float* const output = a.sums + (int64_t{split_} * sum_groups(kN) + thread / kQuads) * a.n + column;
    const float sums[4] = {sum_.x, sum_.y, sum_.z, sum_.w};
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (column + i < a.n) output[i] = sums[i];
    sum_ = {};
  }

 private:
  float4 sum_ = {};
  int64_t n_;
  int split_;
  bool wanted_, last_;
};

template <int kN, bool kOuterA, bool kOuterB, bool kWide, bool kSums>
__device__ void read_chunks(const SplitArguments& a, uint32_t shared) {
  const int thread = static_cast<int>(threadIdx.x) - kMultipliers;
  Tile<kM, kOuterA, kWide> tile_a;
  Tile<kN, kOuterB, kWide> tile_b;
  Work work{};
  const auto read_a = [&] {
    if (work.valid(a)) tile_a.read(thread, a.a, work.m, int64_t{work.chunk} * kK);
  };
  const auto read_b = [&] {
    if (work.valid(a)) tile_b.read(thread, a.b, work.n, int64_t{work.chunk} * kK);
  };
  Stage stage;
  [[maybe_unused]] RowSums sums;
  work.begin(a, kN, static_cast<int>(blockIdx.x));
  read_a();
  read_b();
  for (; work.valid(a); stage.next()) {
    if (stage.count() >= kStages) stage.wait_until_read();
    const uint32_t destination = shared + stage.at() * stage_bytes(kN);
    tile_a.write(thread, destination);
    if constexpr (kSums) sums.begin(a, work);
    work.advance(a, kN);
    read_a();  // in flight while B is split
    tile_b.write(thread, destination + kParts * part_bytes(kM));
    publish_to_tensor_cores();
    stage.written();
    if constexpr (kSums) sums.template add<kN>(a, thread, tile_b);
    read_b();
  }
  // Waits for the last handovers, so that all barriers end as they began.
  int left = min(stage.count(), kStages);
  if (left < kStages) stage.next();  // the only one was the first
  for (; left > 0; --left, stage.next()) stage.wait_until_read();
}

template <int kN, bool kOuterA, bool kOuterB>
__device__ void multiply_chunks(const SplitArguments& a, uint32_t shared, float* staged) {
  float sum[kN / 2], chunk[kN / 2];
#pragma unroll
  for (int i = 0; i < kN / 2; ++i) sum[i] = chunk[i] = 0;
  Stage stage;
  Work work{};
  for (work.begin(a, kN, static_cast<int>(blockIdx.x)); work.valid(a); work.advance(a, kN), stage.next()) {
    stage.wait_until_written();
    multiply_chunk<kN, kOuterA, kOuterB>(chunk, shared + stage.at() * stage_bytes(kN));
    wait_for_products();
    stage.read();
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) sum[i] = fmaf(chunk[i], 1.0f / (kRaise * kRaise), sum[i]);
    if (!work.last()) continue;
    if (!all_finite(sum)) {
      float copy[kN / 2];  // keeps the sums in registers elsewhere
#pragma unroll
      for (int i = 0; i < kN / 2; ++i) copy[i] = sum[i];
      repair_sums<kN, kOuterA, kOuterB>(a, work, copy);
#pragma unroll
      for (int i = 0; i < kN / 2; ++i) sum[i] = copy[i];
    }
    finish_tile<kN>(a, work, sum);
    write_tile<kN>(a, work, sum, staged);
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) sum[i] = 0;
  }
}

template <int kN, bool kOuterA, bool kOuterB, bool kWide, bool kSums>
__global__ void __launch_bounds__(kThreads, 1)
    split_product_kernel(const __grid_constant__ SplitArguments a) {
  begin_overlapping();
  extern __shared__ unsigned char raw[];
  const uint32_t before = static_cast<uint32_t>(__cvta_generic_to_shared(raw));
  const uint32_t address = (before + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  if (threadIdx.x >= kMultipliers) {
    give_registers<kReaderRegisters>();
    read_chunks<kN, kOuterA, kOuterB, kWide, kSums>(a, address);
  } else {
    take_registers<kMultiplierRegisters>();
    float* const staged = reinterpret_cast<float*>(raw + (address - before) + kStages * stage_bytes(kN));
    multiply_chunks<kN, kOuterA, kOuterB>(a, address, staged);
  }
}

/// Epilogue of a sum on its way to C.
struct Finish {
  const float* bias;     ///< [N], or null
  const float* relu_of;  ///< [M,N], or null
  bool relu, adds;
};

/// C = the epilogue of the sum of [splits, size] over the splits, in order. N is `n`.
template <int kWidth>
__global__ void __launch_bounds__(kBlockThreads)
    add_splits_kernel(int64_t size, int64_t n, int splits, const float* sums, Finish finish, float* c) {
  begin_overlapping();
  const int64_t step = int64_t{gridDim.x} * blockDim.x * kWidth;
  for (int64_t i = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kWidth; i < size; i += step) {
    Pack<float, kWidth> sum = load<kWidth>(sums + i);
#pragma unroll 8
    for (int s = 1; s < splits; ++s) {
      const Pack<float, kWidth> more = load<kWidth>(sums + s * size + i);
#pragma unroll
      for (int w = 0; w < kWidth; ++w) sum[w] += more[w];
    }
#pragma unroll
    for (int w = 0; w < kWidth; ++w) {
      if (finish.adds) sum[w] += c[i + w];
      if (finish.bias != nullptr) sum[w] += finish.bias[(i + w) % n];
      if (finish.relu && sum[w] < 0.0f) sum[w] = 0.0f;
      if (finish.relu_of != nullptr) sum[w] = through_relu(sum[w], finish.relu_of[i + w]);
    }
    store(c + i, sum);
  }
}

template <int kN, bool kOuterA, bool kOuterB>
void launch_tiles(int device, const SplitArguments& a) {
  const int bytes = shared_bytes(kN) + (a.pairs ? 0 : staged_bytes(kN));
  const bool wide = a.a.wide && a.b.wide;
  auto kernel = wide ? split_product_kernel<kN, kOuterA, kOuterB, true, false>
                     : split_product_kernel<kN, kOuterA, kOuterB, false, false>;
  if constexpr (kOuterA && kOuterB) {
    if (a.sums != nullptr)
      kernel = wide ? split_product_kernel<kN, true, true, true, true>
                    : split_product_kernel<kN, true, true, false, true>;
  }
  const DeviceScope scope(device);
  ADJ_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const auto blocks = static_cast<unsigned>(std::min(a.units, properties(device).multiprocessors));
  launch("gemm", overlapping(device, blocks, kThreads, static_cast<size_t>(bytes)), kernel, a);
}

/// Partition of a product: tiles of C, and splits of K if there are too few tiles.
struct Division {
  int64_t m, n, k;
  int tile_n, m_tiles, n_tiles, chunks, splits, multiprocessors;

  explicit Division(const GemmArgs& args)
      : m(args.c.size(0)),
        n(args.c.size(1)),
        k(args.a.size(args.trans_a == Transpose::yes ? 0 : 1)),
        tile_n(n <= 64 ? 64 : 128),
        m_tiles(static_cast<int>(ceil_div(m, int64_t{kM}))),
        n_tiles(static_cast<int>(ceil_div(n, int64_t{tile_n}))),
        chunks(static_cast<int>(ceil_div(k, int64_t{kK}))),
        multiprocessors(properties(args.c.device().index).multiprocessors) {
    constexpr int kLeastChunks = 4;  // per split: fewer do not pay for the sums' memory traffic
    splits = static_cast<int>(
        std::clamp<int64_t>(multiprocessors / tiles(), 1, std::max(chunks / kLeastChunks, 1)));
  }
  int64_t tiles() const { return int64_t{m_tiles} * n_tiles; }

  /// Whether it is faster than cuBLASLt's float32 product, by microseconds measured on an H200.
  bool gains() const {
    const auto rounds = static_cast<double>(ceil_div(tiles() * splits, int64_t{multiprocessors}));
    const double chunk = tile_n == 64 ? 1.7 : 2.9;
    const double split = 4.0 + rounds * std::ceil(chunks / double(splits)) * chunk + (splits > 1 ? 6.0 : 0.0);
    const int64_t whole_n = ceil_div(n, int64_t{64}) * 64;  // tiles are at least this wide
    const double float32 =
        5.0 + 2e-6 * static_cast<double>(m) * static_cast<double>(whole_n) * static_cast<double>(k) / 45.0;
    return split < float32;
  }
};

}  // namespace

bool splits_product(const GemmArgs& args) {
  if (args.c.dtype() != DType::f32 || compute_context().matmul_precision != MatmulPrecision::exact)
    return false;
  if (!has_warpgroup_products(args.c.device())) return false;
  switch (compute_context().exact_products) {
    case ExactProducts::float32:
      return false;
    case ExactProducts::split:
      return true;
    default:
      return Division(args).gains();
  }
}

void split_product(const GemmArgs& args, Tensor* row_sums) {
  const bool turned_a = args.trans_a == Transpose::yes, turned_b = args.trans_b == Transpose::yes;
  const int device = args.c.device().index;
  const Division division(args);
  const Finish finish{.bias = data_or_null<float>(args.bias),
                      .relu_of = data_or_null<float>(args.through_relu),
                      .relu = args.activation == Activation::relu,
                      .adds = args.accumulate};
  float* const c = args.c.mutable_data<float>();
  const auto is_wide = [](const Tensor& x) { return aligned_to_16(x.data<float>()) && x.size(1) % 4 == 0; };
  SplitArguments a{.a = {args.a.data<float>(), division.m, division.k, is_wide(args.a)},
                   .b = {args.b.data<float>(), division.n, division.k, is_wide(args.b)},
                   .bias = finish.bias,
                   .relu_of = finish.relu_of,
                   .sums = nullptr,
                   .c = c,
                   .m = division.m,
                   .n = division.n,
                   .tiles = static_cast<int>(division.tiles()),
                   .n_tiles = division.n_tiles,
                   .units = static_cast<int>(division.tiles() * division.splits),
                   .chunks = division.chunks / division.splits,
                   .longer_splits = division.chunks % division.splits,
                   .relu = finish.relu,
                   .adds = finish.adds,
                   .pairs = false};
  Tensor sums;
  if (division.splits > 1) {
    sums = Tensor::empty({division.splits, a.m, a.n}, DType::f32, args.c.device());
    a.c = sums.mutable_data<float>();
    a.bias = a.relu_of = nullptr;
    a.relu = a.adds = false;
  }
  a.pairs =
      (reinterpret_cast<uintptr_t>(a.c) | reinterpret_cast<uintptr_t>(a.relu_of)) % 8 == 0 && a.n % 2 == 0;
  Tensor parts;
  if (row_sums != nullptr) {
    ADJ_CHECK(turned_a && !turned_b, "gemm: sums over rows of b require a transposed and b not transposed");
    parts = Tensor::empty({division.splits * sum_groups(division.tile_n), a.n}, DType::f32, args.c.device());
    a.sums = parts.mutable_data<float>();
  }
  const auto go = [&]<int kN>() {
    turned_a   ? turned_b ? launch_tiles<kN, true, false>(device, a) : launch_tiles<kN, true, true>(device, a)
      : turned_b ? launch_tiles<kN, false, false>(device, a)
               : launch_tiles<kN, false, true>(device, a);
  };
  division.tile_n == 64 ? go.template operator()<64>() : go.template operator()<128>();
  if (row_sums != nullptr) cuda::sum_rows({.x = parts, .y = *row_sums});
  if (division.splits == 1) return;

  const int64_t size = a.m * a.n;
  const auto add = [&]<int kWidth>() {
    launch("gemm", over(device, size, kWidth), add_splits_kernel<kWidth>, size, a.n, division.splits,
           sums.data<float>(), finish, c);
  };
  size % 4 == 0 && aligned_to_16(c) ? add.template operator()<4>() : add.template operator()<1>();
}

}  // namespace adj::kernels::cuda
