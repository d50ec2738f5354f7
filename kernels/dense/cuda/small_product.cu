// Products of a few million multiplications, such as the last layer of a classifier on a citation graph. A
// block computes a tile of C, 32 x 8 or 32 x 32, and loads both operands through shared memory, 64 terms of
// the sum at a time.
//
// Bytes: A once per tile of columns, B once per tile of rows, C once. The launch dominates: one of 4 to 8 µs
// on an H200, where cuBLASLt makes two, 10 to 15 µs.

#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/dense/cuda/float32_products.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kM = 32, kDepth = 64;  // tile rows, and terms of the sum per iteration
constexpr int kNarrow = 8, kWide = 32;
constexpr int64_t kMostMultiplications = int64_t{1} << 22;
constexpr int64_t kWantedBlocks = 128;  // independent of the GPU, so that the sums are too

struct SmallProduct {
  const float* a;
  const float* b;
  const float* bias;  ///< [N], or null
  float* c;
  float* sums;         ///< [splits, M, N] if K is split
  unsigned* counters;  ///< of the tiles, if K is split
  int m, n, k;
  int m_tiles;
  int depth;  ///< terms per split
  bool relu, adds;
};

/// A block of op(X) in shared memory, [kDepth][kSize]: terms from k0, below end_k, rows or columns from x0,
/// below end_x; zeros beyond. `kOuter`: X has one row per term.
template <int kSize, bool kOuter>
__device__ __forceinline__ void load_part(const float* x, int k0, int end_k, int x0, int end_x, int pitch,
                                          float (&part)[kDepth][kSize + 1]) {
#pragma unroll
  for (int i = 0; i < kDepth * kSize / kBlockThreads; ++i) {
    const int index = static_cast<int>(threadIdx.x) + i * kBlockThreads;
    const int d = kOuter ? index / kSize : index % kDepth, s = kOuter ? index % kSize : index / kDepth;
    const int64_t k = k0 + d, position = x0 + s;
    part[d][s] = k < end_k && position < end_x
                     ? __ldg(x + (kOuter ? k * pitch + position : position * pitch + k))
                     : 0.0f;
  }
}

template <int kN, bool kTurnedA, bool kTurnedB>
__global__ void __launch_bounds__(kBlockThreads)
    small_product_kernel(const __grid_constant__ SmallProduct p) {
  begin_overlapping();
  constexpr int kStep = kBlockThreads / kN, kOutputs = kM / kStep;
  __shared__ float a[kDepth][kM + 1], b[kDepth][kN + 1];
  const int tile = static_cast<int>(blockIdx.x), m0 = tile % p.m_tiles * kM, n0 = tile / p.m_tiles * kN;
  const int row = static_cast<int>(threadIdx.x) / kN, column = static_cast<int>(threadIdx.x) % kN;
  const int begin = static_cast<int>(blockIdx.y) * p.depth, end = min(p.k, begin + p.depth);
  float sum[kOutputs] = {};
  for (int k0 = begin; k0 < end; k0 += kDepth) {
    if (k0 > begin) __syncthreads();
    load_part<kM, kTurnedA>(p.a, k0, end, m0, p.m, kTurnedA ? p.m : p.k, a);
    load_part<kN, !kTurnedB>(p.b, k0, end, n0, p.n, kTurnedB ? p.k : p.n, b);
    __syncthreads();
#pragma unroll 16
    for (int d = 0; d < min(kDepth, end - k0); ++d)
#pragma unroll
      for (int i = 0; i < kOutputs; ++i) sum[i] = fmaf(a[d][row + i * kStep], b[d][column], sum[i]);
  }

  const int n = n0 + column;
  if (gridDim.y > 1) {
    const int64_t size = int64_t{p.m} * p.n;
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) {
      const int m = m0 + row + i * kStep;
      if (m < p.m && n < p.n) p.sums[blockIdx.y * size + int64_t{m} * p.n + n] = sum[i];
    }
    if (!is_last_block(p.counters + tile, gridDim.y)) return;
    int64_t offset[kOutputs];
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) {
      offset[i] = int64_t{min(m0 + row + i * kStep, p.m - 1)} * p.n + min(n, p.n - 1);
      sum[i] = 0.0f;
    }
#pragma unroll 8
    for (unsigned s = 0; s < gridDim.y; ++s)
#pragma unroll
      for (int i = 0; i < kOutputs; ++i) sum[i] += __ldcg(p.sums + s * size + offset[i]);
  }
  if (n >= p.n) return;
#pragma unroll
  for (int i = 0; i < kOutputs; ++i) {
    const int m = m0 + row + i * kStep;
    if (m >= p.m) break;
    float* const output = p.c + int64_t{m} * p.n + n;
    if (p.bias != nullptr) sum[i] += p.bias[n];
    if (p.relu && sum[i] < 0.0f) sum[i] = 0.0f;  // NaN propagates
    *output = p.adds ? *output + sum[i] : sum[i];
  }
}

}  // namespace

bool is_small_product(const GemmArgs& args) {
  if (args.c.dtype() != DType::f32 || compute_context().matmul_precision != MatmulPrecision::exact ||
      compute_context().exact_products == ExactProducts::split)
    return false;
  const int64_t k = args.a.size(args.trans_a == Transpose::yes ? 0 : 1);
  return k <= kMostMultiplications && args.c.numel() <= kMostMultiplications / k;
}

void small_product(const GemmArgs& args) {
  const bool turned_a = args.trans_a == Transpose::yes, turned_b = args.trans_b == Transpose::yes;
  const Device device = args.c.device();
  const int64_t m = args.c.size(0), n = args.c.size(1), k = args.a.size(turned_a ? 0 : 1);
  const int tile_n = n <= kNarrow ? kNarrow : kWide;
  const int64_t m_tiles = ceil_div(m, kM), tiles = m_tiles * ceil_div(n, tile_n);
  int64_t splits = std::clamp<int64_t>(kWantedBlocks / tiles, 1, ceil_div(k, kDepth));
  const int64_t depth = ceil_div(ceil_div(k, splits), kDepth) * kDepth;
  splits = ceil_div(k, depth);
  static_assert(kWantedBlocks <= kArrivalCounters);  // at most that many tiles are split
  Tensor sums;
  if (splits > 1) sums = Tensor::empty({splits, m, n}, DType::f32, device);
  const SmallProduct p{.a = args.a.data<float>(),
                       .b = args.b.data<float>(),
                       .bias = data_or_null<float>(args.bias),
                       .c = args.c.mutable_data<float>(),
                       .sums = splits > 1 ? sums.mutable_data<float>() : nullptr,
                       .counters = arrival_counters(device.index),
                       .m = static_cast<int>(m),
                       .n = static_cast<int>(n),
                       .k = static_cast<int>(k),
                       .m_tiles = static_cast<int>(m_tiles),
                       .depth = static_cast<int>(depth),
                       .relu = args.activation == Activation::relu,
                       .adds = args.accumulate};
  const auto go = [&]<int kN, bool kTurnedA, bool kTurnedB>() {
    launch("gemm", overlapping(device.index, grid(tiles, splits)),
           small_product_kernel<kN, kTurnedA, kTurnedB>, p);
  };
  const auto of_width = [&]<int kN>() {
    turned_a ? turned_b ? go.template operator()<kN, true, true>() : go.template operator()<kN, true, false>()
    : turned_b ? go.template operator()<kN, false, true>()
               : go.template operator()<kN, false, false>();
  };
  tile_n == kNarrow ? of_width.template operator()<kNarrow>() : of_width.template operator()<kWide>();
}

}  // namespace adj::kernels::cuda
