// Float32 products on Hopper's tensor cores (split_product.h). A block makes tiles of 128 x kN of C, one
// after the other, from chunks of 64 along K. Half of its threads read chunks of both operands, split them
// and write the parts to shared memory; the other half have the tensor cores multiply them there and add up.
// Two chunks are in shared memory, a third is on its way. Operands lie there as they do in global memory,
// rows along K or along their outer extent: the tensor cores take both.
#include <adjoint/core/allocator.h>
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/dense/cuda/split_product.h>
#include <adjoint/kernels/dense/cuda/tensor_core.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kMultipliers = 256;  // two warpgroups, for 64 rows of a tile each
constexpr int kReaders = 256;
constexpr int kThreads = kMultipliers + kReaders;
// Of a multiprocessor's 65536 registers: sums and a chunk's sums beside a chunk of numbers as they are read.
constexpr int kMultiplierRegisters = 160, kReaderRegisters = 96;
static_assert(kMultipliers * kMultiplierRegisters + kReaders * kReaderRegisters == 65536);
constexpr int kM = 128, kK = 64;
constexpr int kParts = 3;
constexpr int kStages = 2;

/// Bytes of one part of a tile of `outer` x kK.
constexpr int part_bytes(int outer) { return outer * kK * 2; }
constexpr int stage_bytes(int n) { return kParts * (part_bytes(kM) + part_bytes(n)); }
constexpr int shared_bytes(int n) { return kStages * stage_bytes(n) + kPatternBytes; }

struct SplitArguments {
  const float *a, *b, *bias;
  float* c;  ///< [M,N], or [splits,M,N]
  int64_t m, n, k;
  int m_tiles, n_tiles, splits, chunks;
  bool relu, adds;             ///< adds: to what c holds
  bool wide_a, wide_b, pairs;  ///< may rows of a, b be read 16 bytes at a time; those of c written 8?
};

/// Which chunk of which tile: units are (split, tile of M, tile of N), and those of neighbouring blocks share
/// rows of A.
struct Work {
  int64_t unit;
  int chunk, end, split;
  int64_t m, n;  ///< where the tile begins

  __device__ void begin(const SplitArguments& a, int tile_n, int64_t at) {
    unit = at;
    const int64_t tiles = int64_t{a.m_tiles} * a.n_tiles;
    if (at >= tiles * a.splits) return;
    split = static_cast<int>(at / tiles);
    m = at % tiles / a.n_tiles * kM;
    n = at % a.n_tiles * tile_n;
    chunk = static_cast<int>(int64_t{a.chunks} * split / a.splits);
    end = static_cast<int>(int64_t{a.chunks} * (split + 1) / a.splits);
  }
  __device__ bool valid(const SplitArguments& a) const {
    return unit < int64_t{a.m_tiles} * a.n_tiles * a.splits;
  }
  __device__ bool last() const { return chunk + 1 == end; }
  __device__ void advance(const SplitArguments& a, int tile_n) {
    if (!last())
      ++chunk;
    else
      begin(a, tile_n, unit + gridDim.x);
  }
};

/// A tile of kOuter x kK of an operand, four neighbours at a time. kOuterRows: its rows in memory run along
/// its outer extent.
template <int kOuter, bool kOuterRows>
struct Tile {
  static constexpr int kQuads = (kOuterRows ? kOuter : kK) / 4;  // of a row
  static constexpr int kStep = kReaders / kQuads;  // rows from one of a thread's quads to the next
  static constexpr int kCount = (kOuterRows ? kK : kOuter) / kStep;
  static_assert(kStep % 8 == 0);  // so that a thread's quads have their place in the pattern in common
  float4 quads[kCount];

  /// `outer`, `inner`: the operand's extents; `from_outer`, `from_inner`: where the tile begins.
  __device__ void read(int thread, const float* x, bool wide, int64_t outer, int64_t inner,
                       int64_t from_outer, int64_t from_inner) {
    const int64_t rows = kOuterRows ? inner : outer, columns = kOuterRows ? outer : inner;
    const int64_t row = (kOuterRows ? from_inner : from_outer) + thread / kQuads;
    const int64_t column = (kOuterRows ? from_outer : from_inner) + thread % kQuads * 4;
    const float* from = x + row * columns + column;
#pragma unroll
    for (int i = 0; i < kCount; ++i, from += kStep * columns) {
      float4 quad = {0, 0, 0, 0};
      if (row + i * kStep < rows && column < columns) {
        if (wide) {
          quad = *reinterpret_cast<const float4*>(from);
        } else {
          quad.x = from[0];
          if (column + 1 < columns) quad.y = from[1];
          if (column + 2 < columns) quad.z = from[2];
          if (column + 3 < columns) quad.w = from[3];
        }
      }
      quads[i] = quad;
    }
  }

  __device__ void write(int thread, unsigned char* shared) const {
    const int row = thread / kQuads, quad = thread % kQuads;
    constexpr int kPanel = kK * kRowBytes;  // of 64 along the outer extent, where rows run along it
    unsigned char* to =
        shared + (kOuterRows ? quad / 16 * kPanel : 0) + swizzled(row, quad % 16 / 2) + quad % 2 * 8;
#pragma unroll
    for (int i = 0; i < kCount; ++i, to += kStep * kRowBytes) {
      uint2 parts[kParts];
      split(quads[i].x, quads[i].y, parts[0].x, parts[1].x, parts[2].x);
      split(quads[i].z, quads[i].w, parts[0].y, parts[1].y, parts[2].y);
#pragma unroll
      for (int p = 0; p < kParts; ++p) *reinterpret_cast<uint2*>(to + p * part_bytes(kOuter)) = parts[p];
    }
  }

 private:
  static __device__ float upper(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }
  static __device__ float lower(uint32_t pair) { return __uint_as_float(pair << 16); }
  static __device__ uint32_t upper_halves(float x, float y) {
    return __byte_perm(__float_as_uint(x), __float_as_uint(y), 0x7632);
  }
  /// Two numbers into pairs of parts. The first part is cut rather than rounded, so that no finite number
  /// gives an infinite one; what is left of 24 bits after the second fits the third.
  static __device__ void split(float x, float y, uint32_t& first, uint32_t& second, uint32_t& third) {
    first = upper_halves(x, y);
    x -= lower(first);
    y -= upper(first);
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(second) : "f"(y), "f"(x));
    third = upper_halves(x - lower(second), y - upper(second));
  }
};

template <int kN, bool kOuterA, bool kOuterB>
__device__ void multiply_chunk(float (&sum)[kN / 2], uint32_t shared) {
  // From 16 along K to the next 16, and from one warpgroup's 64 rows of A to the next one's.
  constexpr int kStepA = kOuterA ? 16 * kRowBytes : 32, kStepB = kOuterB ? 16 * kRowBytes : 32;
  constexpr int kPanel = kK * kRowBytes;
  // The products of parts that are summed, small ones first.
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

/// Calls f(row, column, i) for the pairs of neighbours of C, from `column` on, that the thread has in sum[i]
/// and sum[i + 1].
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

/// sum += what C holds: all of it is asked for before any of it is used, and before anything is written.
template <int kN>
__device__ void add_tile(const SplitArguments& a, const Work& work, float (&sum)[kN / 2]) {
  float2 held[kN / 4] = {};
  if (a.pairs) {
    for_pairs<kN>(a, work, [&](int64_t row, int64_t column, int i) {
      held[i / 2] = *reinterpret_cast<const float2*>(a.c + row * a.n + column);
    });
  } else {
    for_pairs<kN>(a, work, [&](int64_t row, int64_t column, int i) {
      const float* const from = a.c + row * a.n + column;
      held[i / 2] = {from[0], column + 1 < a.n ? from[1] : 0.0f};
    });
  }
#pragma unroll
  for (int i = 0; i < kN / 4; ++i) {
    sum[2 * i] += held[i].x;
    sum[2 * i + 1] += held[i].y;
  }
}

template <int kN>
__device__ void write_tile(const SplitArguments& a, const Work& work, const float (&sum)[kN / 2]) {
  float* const c = a.c + work.split * a.m * a.n;
  for_pairs<kN>(a, work, [&](int64_t row, int64_t column, int i) {
    const bool both = column + 1 < a.n;
    float2 value = {sum[i], sum[i + 1]};
    if (a.bias != nullptr) value = {value.x + a.bias[column], both ? value.y + a.bias[column + 1] : 0.0f};
    if (a.relu) value = {value.x < 0.0f ? 0.0f : value.x, value.y < 0.0f ? 0.0f : value.y};  // NaN stays
    float* const to = c + row * a.n + column;
    if (a.pairs) {
      *reinterpret_cast<float2*>(to) = value;
    } else {
      to[0] = value.x;
      if (both) to[1] = value.y;
    }
  });
}

/// The chunks that a block's readers and its multipliers hand each other, by the barriers 1 to 4.
class Stage {
 public:
  __device__ void next() {
    at_ ^= 1;
    ++count_;
  }
  __device__ int at() const { return at_; }
  __device__ int count() const { return count_; }
  __device__ void wait_until_written() const { wait(1 + at_); }
  __device__ void wait_until_read() const { wait(3 + at_); }
  __device__ void written() const { arrive(1 + at_); }
  __device__ void read() const { arrive(3 + at_); }

 private:
  static __device__ void wait(int barrier) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
  }
  static __device__ void arrive(int barrier) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
  }
  int at_ = 0, count_ = 0;
};

template <int kN, bool kOuterA, bool kOuterB>
__device__ void read_chunks(const SplitArguments& a, unsigned char* shared) {
  const int thread = static_cast<int>(threadIdx.x) - kMultipliers;
  Tile<kM, kOuterA> tile_a;
  Tile<kN, kOuterB> tile_b;
  Work work{};
  const auto read = [&] {
    if (!work.valid(a)) return;
    tile_a.read(thread, a.a, a.wide_a, a.m, a.k, work.m, int64_t{work.chunk} * kK);
    tile_b.read(thread, a.b, a.wide_b, a.n, a.k, work.n, int64_t{work.chunk} * kK);
  };
  Stage stage;
  work.begin(a, kN, blockIdx.x);
  read();
  for (; work.valid(a); stage.next()) {
    if (stage.count() >= kStages) stage.wait_until_read();
    unsigned char* const to = shared + stage.at() * stage_bytes(kN);
    tile_a.write(thread, to);
    tile_b.write(thread, to + kParts * part_bytes(kM));
    publish_to_tensor_cores();
    stage.written();
    work.advance(a, kN);
    read();
  }
  // What was handed back last is taken, so that all barriers end as they began.
  int left = min(stage.count(), kStages);
  if (left < kStages) stage.next();  // the only one was the first
  for (; left > 0; --left, stage.next()) stage.wait_until_read();
}

template <int kN, bool kOuterA, bool kOuterB>
__device__ void multiply_chunks(const SplitArguments& a, uint32_t shared) {
  float sum[kN / 2], chunk[kN / 2];
#pragma unroll
  for (int i = 0; i < kN / 2; ++i) sum[i] = chunk[i] = 0;
  Stage stage;
  Work work{};
  for (work.begin(a, kN, blockIdx.x); work.valid(a); work.advance(a, kN), stage.next()) {
    stage.wait_until_written();
    multiply_chunk<kN, kOuterA, kOuterB>(chunk, shared + stage.at() * stage_bytes(kN));
    wait_for_products();
    stage.read();
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) sum[i] += chunk[i];
    if (!work.last()) continue;
    if (a.adds) add_tile<kN>(a, work, sum);
    write_tile<kN>(a, work, sum);
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) sum[i] = 0;
  }
}

template <int kN, bool kOuterA, bool kOuterB>
__global__ void __launch_bounds__(kThreads, 1)
    split_product_kernel(const __grid_constant__ SplitArguments a) {
  begin_overlapping();
  extern __shared__ unsigned char raw[];
  const uint32_t before = static_cast<uint32_t>(__cvta_generic_to_shared(raw));
  const uint32_t address = (before + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  if (threadIdx.x >= kMultipliers) {
    give_registers<kReaderRegisters>();
    read_chunks<kN, kOuterA, kOuterB>(a, raw + (address - before));
  } else {
    take_registers<kMultiplierRegisters>();
    multiply_chunks<kN, kOuterA, kOuterB>(a, address);
  }
}

/// What becomes of a sum on its way to C.
struct Finish {
  const float* bias;  ///< [N], or null
  bool relu, adds;
};

/// C = the sum of the splits' [splits, size] in order, finished. N is `n`.
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
      if (finish.bias != nullptr) sum[w] += finish.bias[(i + w) % n];
      if (finish.relu && sum[w] < 0.0f) sum[w] = 0.0f;
      if (finish.adds) sum[w] += c[i + w];
    }
    store(c + i, sum);
  }
}

template <int kN, bool kOuterA, bool kOuterB>
void launch_tiles(int device, const SplitArguments& a) {
  constexpr int kBytes = shared_bytes(kN);
  const auto kernel = split_product_kernel<kN, kOuterA, kOuterB>;
  use_device(device);
  ADJ_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  const int64_t units = int64_t{a.m_tiles} * a.n_tiles * a.splits;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(units, properties(device).multiprocessors));
  launch("gemm",
         {.device = device, .blocks = blocks, .threads = kThreads, .shared_bytes = kBytes, .overlaps = true},
         kernel, a);
}

/// How a product is shared out: tiles of C, and runs of K's chunks where the tiles are too few.
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
    constexpr int kLeastChunks = 4;  // of a split: fewer do not pay for the sums' way through memory
    splits = static_cast<int>(
        std::clamp<int64_t>(multiprocessors / tiles(), 1, std::max(chunks / kLeastChunks, 1)));
  }
  int64_t tiles() const { return int64_t{m_tiles} * n_tiles; }

  /// Is it faster than cuBLASLt's float32 product, by microseconds measured on an H200?
  bool gains() const {
    const auto rounds = static_cast<double>(ceil_div(tiles() * splits, int64_t{multiprocessors}));
    const double chunk = tile_n == 64 ? 1.7 : 2.9;
    const double split = 4.0 + rounds * std::ceil(chunks / double(splits)) * chunk + (splits > 1 ? 6.0 : 0.0);
    const int64_t whole_n = ceil_div(n, int64_t{64}) * 64;  // its tiles are no narrower either
    const double float32 =
        5.0 + 2e-6 * static_cast<double>(m) * static_cast<double>(whole_n) * static_cast<double>(k) / 45.0;
    return split < float32;
  }
};

}  // namespace

bool splits_product(const GemmArgs& args) {
  if (args.c.dtype() != DType::f32 || matmul_precision() != MatmulPrecision::exact) return false;
  const DeviceProperties& gpu = properties(args.c.device().index);
  if (gpu.major != 9 || gpu.minor != 0) return false;
  switch (exact_products()) {
    case ExactProducts::float32:
      return false;
    case ExactProducts::split:
      return true;
    default:
      return Division(args).gains();
  }
}

void split_product(const GemmArgs& args) {
  const bool turned_a = args.trans_a == Transpose::yes, turned_b = args.trans_b == Transpose::yes;
  const int device = args.c.device().index;
  const Division division(args);
  const Finish finish{.bias = args.bias ? args.bias.data<float>() : nullptr,
                      .relu = args.activation == Activation::relu,
                      .adds = args.accumulate};
  float* const c = args.c.mutable_data<float>();
  SplitArguments a{.a = args.a.data<float>(),
                   .b = args.b.data<float>(),
                   .bias = finish.bias,
                   .c = c,
                   .m = division.m,
                   .n = division.n,
                   .k = division.k,
                   .m_tiles = division.m_tiles,
                   .n_tiles = division.n_tiles,
                   .splits = division.splits,
                   .chunks = division.chunks,
                   .relu = finish.relu,
                   .adds = finish.adds,
                   .wide_a = aligned_to_16(args.a.data<float>()) && args.a.size(1) % 4 == 0,
                   .wide_b = aligned_to_16(args.b.data<float>()) && args.b.size(1) % 4 == 0,
                   .pairs = false};
  Tensor sums;
  if (a.splits > 1) {
    sums = Tensor::empty({a.splits, a.m, a.n}, DType::f32, args.c.device());
    a.c = sums.mutable_data<float>();
    a.bias = nullptr;
    a.relu = a.adds = false;
  }
  a.pairs = reinterpret_cast<uintptr_t>(a.c) % 8 == 0 && a.n % 2 == 0;
  const auto go = [&]<int kN>() {
    turned_a   ? turned_b ? launch_tiles<kN, true, false>(device, a) : launch_tiles<kN, true, true>(device, a)
      : turned_b ? launch_tiles<kN, false, false>(device, a)
               : launch_tiles<kN, false, true>(device, a);
  };
  division.tile_n == 64 ? go.template operator()<64>() : go.template operator()<128>();
  if (a.splits == 1) return;

  const int64_t size = a.m * a.n;
  const auto add = [&]<int kWidth>() {
    launch("gemm", {.device = device, .blocks = blocks_for(size, kWidth), .overlaps = true},
           add_splits_kernel<kWidth>, size, a.n, a.splits, sums.data<float>(), finish, c);
  };
  size % 4 == 0 && aligned_to_16(c) ? add.template operator()<4>() : add.template operator()<1>();
}

}  // namespace adj::kernels::cuda
