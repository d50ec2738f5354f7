// Products of bit tensors on Hopper's tensor cores: warpgroup products of single bits, AND and population
// count, m64 n256 k256 (PTX ISA; measured alone 15,300 TOPS on an H200). A block has a tile of 128 x kN of Y,
// two warpgroups that multiply and one warp that brings the operands, a plane's step of 1024 bits at a time,
// each by one bulk copy: BitTensor lies in memory as tensor cores want it in shared memory.
//
// Pairs of planes (i, j) weigh 2^(i+j). They are taken by falling i + j, and the sums, which stay in
// registers, are doubled where i + j falls by one (Horner's rule): any bits by any bits by the same loop,
// with one set of sums.
//
// Many pairs, as of 4 by 4 bits, cost more than the same numbers as bytes, m64 n256 k32: then operands are
// written as bytes first, in the same layout, and the same kernel takes these.
//
// Bytes: (128 + kN) 128 of shared memory for each tile, pair and step; a step takes the tensor cores 4 kN
// cycles at best. At kN = 256 reading operands (80 KB) and writing them (48 KB) take shared memory as long,
// 1,000 cycles; 1,230 were measured. What was tried: docs/bits.md.

#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/bits/cuda/bit_pack.h>
#include <adjoint/kernels/bits/cuda/bit_product.h>
#include <adjoint/kernels/dense/cuda/tensor_core.cuh>

#include <algorithm>

namespace adj::kernels::cuda {

namespace {

constexpr int kMultipliers = 256, kThreads = kMultipliers + 128;
constexpr int kTileRows = 128;
static_assert(BitTensor::kRowBytes == kRowBytes && BitTensor::kRowGroup * kRowBytes == kPatternBytes);

template <int kN>
struct Shape {
  static constexpr int kStageBytes = (kTileRows + kN) * kRowBytes;
  static constexpr int kStages = std::min(6, (227 * 1024 - 2 * kPatternBytes) / kStageBytes);
  static constexpr int kSharedBytes = kStages * kStageBytes + 2 * kPatternBytes;
};

/// What becomes of sums.
enum class Ending : uint8_t { integers, floats, bits };
/// What operands are: planes, or bytes (expand_bits), which are one plane of 128 numbers a step.
enum class Element : uint8_t { bit, byte };

struct Arguments {
  BitOperand a = {}, b = {};
  int steps = 0;
  int64_t inner = 0;
  int32_t* integers = nullptr;
  float* floats = nullptr;
  BitResult result = {};
};

__device__ __forceinline__ void wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nwaiting:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra waited;\nbra waiting;\nwaited:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void bulk_copy(uint32_t to, const void* from, int bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

/// A stage that comes round.
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

/// Calls f(plane of A, plane of B) for the pairs that weigh 2^shift.
template <class F>
__device__ __forceinline__ void for_each_pair(const Arguments& args, int shift, F&& f) {
  for (int i = max(0, shift - args.b.bits + 1); i <= min(shift, args.a.bits - 1); ++i) f(i, shift - i);
}

template <int kN>
__device__ void read_planes(const Arguments& args, uint32_t shared, uint32_t barriers) {
  using S = Shape<kN>;
  if (threadIdx.x != kMultipliers) return;
  // Rows beyond the last are not read; what stands in their place only meets sums that nobody writes.
  const auto rows_of = [](const BitOperand& x, int first, int most) {
    constexpr int kGroup = static_cast<int>(BitTensor::kRowGroup);
    return min(most, (x.outer + kGroup - 1) / kGroup * kGroup - first);
  };
  const int first_a = static_cast<int>(blockIdx.x) * kTileRows, first_b = static_cast<int>(blockIdx.y) * kN;
  const int bytes_a = rows_of(args.a, first_a, kTileRows) * kRowBytes,
            bytes_b = rows_of(args.b, first_b, kN) * kRowBytes;
  Stage<S::kStages> stage;
  for (int shift = args.a.bits + args.b.bits - 2; shift >= 0; --shift)
    for_each_pair(args, shift, [&](int i, int j) {
      const uint8_t* a = args.a.planes + i * args.a.plane_bytes + int64_t{first_a} * kRowBytes;
      const uint8_t* b = args.b.planes + j * args.b.plane_bytes + int64_t{first_b} * kRowBytes;
      for (int step = 0; step < args.steps; ++step) {
        const uint32_t full = barriers + stage.number * 8, to = shared + stage.number * S::kStageBytes;
        wait(full + S::kStages * 8, stage.round ^ 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full),
                     "r"(bytes_a + bytes_b)
                     : "memory");
        bulk_copy(to, a, bytes_a, full);
        bulk_copy(to + kTileRows * kRowBytes, b, bytes_b, full);
        a += args.a.step_bytes;
        b += args.b.step_bytes;
        stage.advance();
      }
    });
}

/// Leaves f(column) of the tile's columns in shared memory, by all multipliers.
template <int kN, class T, class F>
__device__ __forceinline__ void leave_columns(T* columns, int n, F&& f) {
  const int column = static_cast<int>(blockIdx.y) * kN + static_cast<int>(threadIdx.x);
  if (static_cast<int>(threadIdx.x) < kN) columns[threadIdx.x] = column < n ? f(column) : T{};
  asm volatile("bar.sync 1, %0;" ::"n"(kMultipliers) : "memory");
}

/// A thread's place in the tile: its rows are first_row and the one 8 below, its columns pairs from
/// first_column on, every 8.
struct Fragment {
  int first_row, first_column, in_tile;

  template <int kN>
  static __device__ Fragment of() {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int in_tile = lane % 4 * 2;
    return {static_cast<int>(blockIdx.x) * kTileRows + warp * 16 + lane / 4,
            static_cast<int>(blockIdx.y) * kN + in_tile, in_tile};
  }
};

template <int kN>
__device__ __forceinline__ void leave_integers(const Arguments& args, const int32_t (&sum)[kN / 2]) {
  const Fragment at = Fragment::of<kN>();
  const int n = args.b.outer;
  const bool pairs = n % 2 == 0;  // may two neighbours be written at once?
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = at.first_row + h * 8;
    if (row >= args.a.outer) continue;
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) {
      const int column = at.first_column + j * 8;
      int32_t* const to = args.integers + int64_t{row} * n + column;
      if (pairs && column < n) {
        *reinterpret_cast<int2*>(to) = {sum[j * 4 + h * 2], sum[j * 4 + h * 2 + 1]};
      } else {
        if (column < n) to[0] = sum[j * 4 + h * 2];
        if (column + 1 < n) to[1] = sum[j * 4 + h * 2 + 1];
      }
    }
  }
}

template <int kN>
__device__ __forceinline__ void leave_floats(const Arguments& args, void* shared,
                                             const int32_t (&sum)[kN / 2]) {
  const Fragment at = Fragment::of<kN>();
  const int n = args.b.outer;
  auto* const columns = static_cast<BitTerm*>(shared);
  leave_columns<kN>(columns, n, [&](int column) { return args.b.term(column); });
  const auto inner = static_cast<double>(args.inner);
  BitTerm rows[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) rows[h] = args.a.term(min(at.first_row + h * 8, args.a.outer - 1));
  float* const to = args.floats + int64_t{at.first_row} * n + at.first_column;
#pragma unroll
  for (int j = 0; j < kN / 8; ++j)
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const BitTerm column = columns[at.in_tile + j * 8 + v];
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if (at.first_row + h * 8 < args.a.outer && at.first_column + j * 8 + v < n)
          to[int64_t{h} * 8 * n + j * 8 + v] = bit_value(sum[j * 4 + h * 2 + v], rows[h], column, inner);
    }
}

/// Words of 32 columns: the four lanes of a row have eight of them each.
template <int kN>
__device__ __forceinline__ void leave_bits(const Arguments& args, void* shared,
                                           const int32_t (&sum)[kN / 2]) {
  const Fragment at = Fragment::of<kN>();
  const BitResult& result = args.result;
  const int n = args.b.outer, lane = static_cast<int>(threadIdx.x) % 32;
  auto* const columns = static_cast<BitColumn*>(shared);
  leave_columns<kN>(columns, n, [&](int column) { return result.column(args.b, column); });
  BitRow rows[2];
  int total[2] = {};
#pragma unroll
  for (int h = 0; h < 2; ++h)
    rows[h] = result.row(args.a, min(at.first_row + h * 8, args.a.outer - 1), static_cast<float>(args.inner));
#pragma unroll
  for (int w = 0; w < kN / 32; ++w) {
    int q[2][8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int j = w * 4 + i / 2, in_tile = at.in_tile + j * 8 + i % 2;
      const BitColumn column = columns[in_tile];
      const bool there = at.first_column + j * 8 + i % 2 < n;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int number =
            requantized(sum[j * 4 + h * 2 + i % 2], rows[h], column, result.relu, result.largest);
        q[h][i] = there ? number : 0;
        total[h] += q[h][i];
      }
    }
    const int first = static_cast<int>(blockIdx.y) * kN + w * 32;
    for (int p = 0; p < result.bits; ++p)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        uint32_t word = 0;
#pragma unroll
        for (int i = 0; i < 8; ++i) word |= static_cast<uint32_t>(q[h][i] >> p & 1) << (i / 2 * 8 + i % 2);
        word <<= at.in_tile;
        word |= __shfl_xor_sync(0xffffffffu, word, 1);
        word |= __shfl_xor_sync(0xffffffffu, word, 2);
        const int row = at.first_row + h * 8;
        if (lane % 4 == w % 4 && row < args.a.outer && first < n)
          *reinterpret_cast<uint32_t*>(result.planes + p * result.plane_bytes +
                                       bit_place(result.step_bytes, row, first)) = word;
      }
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    total[h] += __shfl_xor_sync(0xffffffffu, total[h], 1);
    total[h] += __shfl_xor_sync(0xffffffffu, total[h], 2);
    const int row = at.first_row + h * 8;
    if (lane % 4 == 0 && row < args.a.outer)
      atomicAdd(result.sums + row, total[h]);  // integers: in any order
  }
}

template <int kN, Element kElement, Ending kEnding>
__device__ void multiply_planes(const Arguments& args, unsigned char* memory, uint32_t shared,
                                uint32_t barriers) {
  using S = Shape<kN>;
  int32_t sum[kN / 2];
#pragma unroll
  for (int i = 0; i < kN / 2; ++i) sum[i] = 0;
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  const uint64_t own = describe_tile(shared + warpgroup * 64 * kRowBytes, kPatternBytes),
                 other = describe_tile(shared + kTileRows * kRowBytes, kPatternBytes);
  Stage<S::kStages> stage;
  for (int shift = args.a.bits + args.b.bits - 2; shift >= 0; --shift) {
    int count = 0;
    for_each_pair(args, shift, [&](int, int) { count += args.steps; });
    for (; count > 0; --count) {
      wait(barriers + stage.number * 8, stage.round);
      const int at = stage.number * S::kStageBytes;
      begin_products();
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if constexpr (kElement == Element::bit)
          multiply_bits(sum, moved(own, at + k * 32), moved(other, at + k * 32));
        else
          multiply_bytes(sum, moved(own, at + k * 32), moved(other, at + k * 32));
      }
      end_products();
      wait_for_products();
      if (threadIdx.x % 128 == 0)
        asm volatile(
            "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barriers + (S::kStages + stage.number) * 8)
            : "memory");
      stage.advance();
    }
    if (shift == 0) break;
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) sum[i] *= 2;
  }
  // What the columns have stands where the first stage was; both warpgroups are through with it.
  asm volatile("bar.sync 1, %0;" ::"n"(kMultipliers) : "memory");
  if constexpr (kEnding == Ending::integers)
    leave_integers<kN>(args, sum);
  else if constexpr (kEnding == Ending::floats)
    leave_floats<kN>(args, memory, sum);
  else
    leave_bits<kN>(args, memory, sum);
}

template <int kN, Element kElement, Ending kEnding>
__global__ void __launch_bounds__(kThreads, 1) bit_product_kernel(const __grid_constant__ Arguments args) {
  using S = Shape<kN>;
  adj::cuda::begin_overlapping();
  extern __shared__ unsigned char raw[];
  const auto begin = static_cast<uint32_t>(__cvta_generic_to_shared(raw));
  const uint32_t shared = (begin + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  const uint32_t barriers = shared + S::kStages * S::kStageBytes;
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::kStages; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + i * 8) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(barriers + (S::kStages + i) * 8)
                   : "memory");
    }
    publish_to_tensor_cores();
  }
  __syncthreads();
  if (threadIdx.x >= kMultipliers) {
    give_registers<40>();
    read_planes<kN>(args, shared, barriers);
  } else {
    take_registers<232>();
    multiply_planes<kN, kElement, kEnding>(args, raw + (shared - begin), shared, barriers);
  }
}

template <int kN, Element kElement, Ending kEnding>
void run(Device device, const Arguments& args) {
  using S = Shape<kN>;
  const auto kernel = bit_product_kernel<kN, kElement, kEnding>;
  adj::cuda::use_device(device.index);  // the attribute is one of the kernel on this device
  ADJ_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kSharedBytes));
  adj::cuda::launch("bit_gemm",
                    {.device = device.index,
                     .blocks = dim3(static_cast<unsigned>(ceil_div(args.a.outer, kTileRows)),
                                    static_cast<unsigned>(ceil_div(args.b.outer, kN))),
                     .threads = kThreads,
                     .shared_bytes = S::kSharedBytes,
                     .overlaps = true},
                    kernel, args);
}

int tile_columns(const BitTensor& b) { return b.outer > 128 ? 256 : b.outer > 64 ? 128 : 64; }

/// Are bytes faster? They are eight steps for each of a plane's; pairs of planes beyond that are weighed
/// against writing the bytes, by what a step and a byte took on an H200.
bool wants_bytes(const BitTensor& a, const BitTensor& b) {
  constexpr double kCycle = 1.0 / 1.755e9, kByte = 1.0 / 1.9e12, kLaunches = 5e-6;  // seconds
  const int columns = tile_columns(b);
  const int64_t blocks = ceil_div(a.outer, int64_t{kTileRows}) * ceil_div(b.outer, int64_t{columns});
  const int multiprocessors = adj::cuda::properties(a.device().index).multiprocessors;
  const auto steps = static_cast<double>(ceil_div(blocks, int64_t{multiprocessors}) * a.steps());
  const double saved = (a.bits * b.bits - 8) * steps * (4.3 * columns + 110.0) * kCycle;
  const auto bytes = [](const BitTensor& q) {
    return static_cast<double>(q.outer) * static_cast<double>(q.inner) * (1.0 + q.bits / 8.0);
  };
  return saved > (bytes(a) + bytes(b)) * kByte + kLaunches;
}

template <Element kElement, Ending kEnding>
void run(Device device, int columns, const Arguments& args) {
  columns == 256   ? run<256, kElement, kEnding>(device, args)
  : columns == 128 ? run<128, kElement, kEnding>(device, args)
                   : run<64, kElement, kEnding>(device, args);
}

/// Runs a product with what the endings want in `args`.
template <Ending kEnding>
void run(const BitTensor& a, const BitTensor& b, Arguments args) {
  const Device device = a.device();
  args.a = BitOperand(a);
  args.b = BitOperand(b);
  args.steps = static_cast<int>(a.steps());
  args.inner = a.inner;
  if (!wants_bytes(a, b)) return run<Element::bit, kEnding>(device, tile_columns(b), args);
  const Tensor left = expand_bits(a), right = expand_bits(b);
  const auto set = [](BitOperand& operand, const Tensor& bytes) {
    operand.planes = bytes.data<uint8_t>();
    operand.bits = 1;
  };
  set(args.a, left);
  set(args.b, right);
  args.steps = static_cast<int>(left.size(0));
  run<Element::byte, kEnding>(device, tile_columns(b), args);
}

}  // namespace

bool has_bit_products(Device device) {
  if (!device.is_cuda()) return false;
  const auto& properties = adj::cuda::properties(device.index);
  return properties.major == 9 && properties.minor == 0;
}

void bit_product(const BitGemmArgs& product) {
  Arguments args;
  if (product.y.dtype() == DType::i32) {
    args.integers = product.y.mutable_data<int32_t>();
    return run<Ending::integers>(product.a, product.b, args);
  }
  args.floats = product.y.mutable_data<float>();
  run<Ending::floats>(product.a, product.b, args);
}

void bit_product_to_bits(const BitGemmToBitsArgs& product) {
  Arguments args;
  args.result = BitResult(product);
  run<Ending::bits>(product.a, product.b, args);
}

}  // namespace adj::kernels::cuda
