// A thread computes one column of y in a few rows and loads each weight once for all of them. The threads of
// a head read rows of x together. Bytes: x and y once, the weight from L1.

#include <adjoint/kernels/attention/head_product.h>
#include <adjoint/kernels/cuda/map.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kRows = 8;  // per thread

template <class S>
struct HeadProduct {
  const S* x;
  const S* weight;
  S* y;
  int64_t rows, groups;    ///< groups: of kRows rows
  int64_t in, out;         ///< columns per row of x and of y
  int64_t terms, columns;  ///< per head: the reduction length and columns of y
  int64_t pitch;           ///< of the weight
  bool accumulate;
};

template <int kPack, bool kTurned, class S>
__global__ void __launch_bounds__(kBlockThreads)
    head_product_kernel(const __grid_constant__ HeadProduct<S> p) {
  begin_overlapping();
  using T = Accumulator<S>;
  const int64_t index = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, group = index / p.out;
  if (group >= p.groups) return;
  const int64_t column = index - group * p.out, head = column / p.columns,
                head_column = column - head * p.columns;
  const int64_t first = group * kRows, step = kTurned ? 1 : p.pitch;
  const S* const weight =
      p.weight + (kTurned ? head_column * p.pitch + head * p.terms : head * p.columns + head_column);
  const S* x[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) x[i] = p.x + min(first + i, p.rows - 1) * p.in + head * p.terms;
  T sum[kRows] = {};
  for (int64_t k = 0; k < p.terms; k += kPack) {
    Pack<T, kPack> w;
    if constexpr (kTurned) {
      w = load_wide<kPack>(weight + k);
    } else {
#pragma unroll
      for (int j = 0; j < kPack; ++j) w[j] = widen(weight[(k + j) * step]);
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const Pack<T, kPack> of_row = load_wide<kPack>(x[i] + k);
#pragma unroll
      for (int j = 0; j < kPack; ++j) sum[i] = fma(of_row[j], w[j], sum[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (first + i >= p.rows) break;
    S* const output = p.y + (first + i) * p.out + column;
    *output = narrow<S>(p.accumulate ? widen(*output) + sum[i] : sum[i]);
  }
}

template <class S>
struct DiagonalBlocks {
  int64_t features, pitch, width;
  const S* product;
  S* weight;

  __device__ void operator()(int64_t i) const {
    const int64_t e = i / pitch, column = i - e * pitch, head = column / width;
    weight[i] = product[(head * features + e) * pitch + column];
  }
};

}  // namespace

void head_product(const HeadProductArgs& args) {
  if (args.y.numel() == 0) return;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    constexpr int kWidest = std::min(kVectorWidth<S>, 4);
    const int64_t rows = args.x.size(0), in = args.x.size(1), out = args.y.size(1);
    const HeadProduct<S> p{.x = args.x.data<S>(),
                           .weight = args.weight.data<S>(),
                           .y = args.y.mutable_data<S>(),
                           .rows = rows,
                           .groups = ceil_div(rows, int64_t{kRows}),
                           .in = in,
                           .out = out,
                           .terms = in / args.heads,
                           .columns = out / args.heads,
                           .pitch = args.weight.size(1),
                           .accumulate = args.accumulate};
    const auto go = [&](auto kernel) {
      launch("head_product",
             overlapping(args.x.device().index, grid(ceil_div(p.groups * out, int64_t{kBlockThreads})),
                         kBlockThreads),
             kernel, p);
    };
    if (p.terms % kWidest == 0 && aligned_to_16(p.x, p.weight))
      args.turned ? go(head_product_kernel<kWidest, true, S>) : go(head_product_kernel<kWidest, false, S>);
    else
      args.turned ? go(head_product_kernel<1, true, S>) : go(head_product_kernel<1, false, S>);
  });
}

void diagonal_blocks(const DiagonalBlocksArgs& args) {
  const int64_t pitch = args.weight.size(1);
  dispatch_features(args.weight.dtype(), [&]<class S>() {
    for_each("diagonal_blocks", args.weight.device().index, args.weight.numel(),
             DiagonalBlocks<S>{args.weight.size(0), pitch, pitch / args.heads, args.product.data<S>(),
                               args.weight.mutable_data<S>()});
  });
}

}  // namespace adj::kernels::cuda
