// Products of each row's heads with a vector a head. Row n, head h begins at (n H + h) D, so that the forward
// pass is one over [N H, D]. The vectors' gradients are sums over rows: each block takes a run of rows and a
// slice of the columns, and the runs are added in order.
//
// Bytes: forward x once for both vectors; backward x once for both vectors' gradients, dx written once.

#include <adjoint/core/convert.h>
#include <adjoint/kernels/attention/head_dot.h>
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/reduce/reduce.h>

#include <bit>

namespace adj::kernels::cuda {

namespace {

/// kLanes lanes take a product.
template <class S, int kVector, int kLanes>
__global__ void __launch_bounds__(kBlockThreads)
    dot_kernel(int64_t products, int64_t heads, int64_t width, const S* x, const S* a, const S* a2,
               Wide<S>* y, Wide<S>* y2) {
  using A = Wide<S>;
  begin_overlapping();
  const int64_t p = (int64_t{blockIdx.x} * kBlockThreads + threadIdx.x) / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  A first = 0, second = 0;
  if (p < products) {
    const int64_t head = p % heads * width;
    for (int64_t d = int64_t{lane} * kVector; d < width; d += kLanes * kVector) {
      const Pack<A, kVector> row = load_wide<kVector>(x + p * width + d),
                             v = load_wide<kVector>(a + head + d);
#pragma unroll
      for (int k = 0; k < kVector; ++k) first = fma(row[k], v[k], first);
      if (a2 == nullptr) continue;
      const Pack<A, kVector> v2 = load_wide<kVector>(a2 + head + d);
#pragma unroll
      for (int k = 0; k < kVector; ++k) second = fma(row[k], v2[k], second);
    }
  }
  first = sum_of_lanes<kLanes>(first);
  if (a2 != nullptr) second = sum_of_lanes<kLanes>(second);
  if (p >= products || lane != 0) return;
  y[p] = first;
  if (a2 != nullptr) y2[p] = second;
}

template <class S, int kVector>
void dot_rows(const HeadDotArgs& args) {
  using A = Wide<S>;
  const int64_t heads = args.a.size(0), width = args.a.size(1), products = args.x.size(0) * heads;
  const auto run = [&]<int kLanes>() {
    launch("head_dot",
           {.device = args.device().index, .blocks = blocks_for(products * kLanes), .overlaps = true},
           dot_kernel<S, kVector, kLanes>, products, heads, width, args.x.data<S>(), args.a.data<S>(),
           args.a2 ? args.a2.data<S>() : nullptr, args.y.mutable_data<A>(),
           args.y2 ? args.y2.mutable_data<A>() : nullptr);
  };
  const int64_t packs = ceil_div(width, kVector);
  if (packs <= 2) return run.template operator()<2>();
  if (packs <= 8) return run.template operator()<8>();
  run.template operator()<32>();
}

/// dx = dy a + dy2 a2, an element a thread.
template <class S>
__global__ void __launch_bounds__(kBlockThreads)
    spread_kernel(int64_t n, int64_t heads, int64_t width, const S* a, const S* a2, const Wide<S>* dy,
                  const Wide<S>* dy2, S* dx) {
  using A = Wide<S>;
  begin_overlapping();
  const int64_t step = int64_t{gridDim.x} * kBlockThreads;
  for (int64_t i = int64_t{blockIdx.x} * kBlockThreads + threadIdx.x; i < n; i += step) {
    const int64_t p = i / width, at = p % heads * width + i % width;
    A value = dy[p] * widen(a[at]);
    if (a2 != nullptr) value = fma(dy2[p], A(widen(a2[at])), value);
    dx[i] = narrow<S>(value);
  }
}

/// parts[blockIdx.x, column] = Σ dy x over the block's rows; `columns` of them side by side in a block (a
/// power of two), the block's other threads taking other rows.
template <class S>
__global__ void __launch_bounds__(kBlockThreads)
    vector_gradient_kernel(int64_t rows, int64_t rows_of_block, int64_t heads, int64_t width, int columns,
                           const S* x, const Wide<S>* dy, const Wide<S>* dy2, Wide<S>* parts,
                           Wide<S>* parts2) {
  using A = Wide<S>;
  begin_overlapping();
  __shared__ A sums[2][kBlockThreads];
  const int64_t column = int64_t{blockIdx.y} * columns + static_cast<int>(threadIdx.x) % columns;
  const int side = static_cast<int>(threadIdx.x) / columns, sides = kBlockThreads / columns;
  const int64_t all = heads * width, head = column / width;
  const int64_t begin = int64_t{blockIdx.x} * rows_of_block, end = min(rows, begin + rows_of_block);
  A first = 0, second = 0;
  if (column < all) {
#pragma unroll 4
    for (int64_t n = begin + side; n < end; n += sides) {
      const A value = widen(x[n * all + column]);
      first = fma(dy[n * heads + head], value, first);
      if (dy2 != nullptr) second = fma(dy2[n * heads + head], value, second);
    }
  }
  sums[0][threadIdx.x] = first;
  sums[1][threadIdx.x] = second;
  __syncthreads();
  if (side != 0 || column >= all) return;
  for (int s = 1; s < sides; ++s) {
    first += sums[0][s * columns + threadIdx.x];
    second += sums[1][s * columns + threadIdx.x];
  }
  parts[blockIdx.x * all + column] = first;
  if (dy2 != nullptr) parts2[blockIdx.x * all + column] = second;
}

void leave_sum(const Tensor& parts, Tensor& to) {
  if (!to) return;
  if (to.dtype() == parts.dtype()) {
    Tensor flat = to.reshape({to.numel()});
    cuda::sum_rows({.x = parts, .y = flat});
    return;
  }
  Tensor sum = Tensor::empty({parts.size(1)}, parts.dtype(), parts.device());
  cuda::sum_rows({.x = parts, .y = sum});
  adj::convert(sum, to);
}

template <class S>
void vector_gradients(const HeadDotBackwardArgs& args) {
  using A = Wide<S>;
  const int64_t rows = args.x.size(0), heads = args.a.size(0), width = args.a.size(1), all = heads * width;
  const int columns = static_cast<int>(
      std::min<uint64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(all, 1))), kBlockThreads));
  const int64_t sides = kBlockThreads / columns;
  constexpr int64_t kMostBlocks = 1024;
  const int64_t rows_of_block = std::max<int64_t>(ceil_div(rows, kMostBlocks),
                                                  std::min<int64_t>(16 * sides, std::max<int64_t>(rows, 1)));
  const int64_t blocks = std::max<int64_t>(ceil_div(rows, rows_of_block), 1);
  const bool both = static_cast<bool>(args.a2);
  Tensor parts = Tensor::empty({blocks, all}, dtype_of<A>(), args.device()), parts2;
  if (both) parts2 = Tensor::empty({blocks, all}, dtype_of<A>(), args.device());
  launch("head_dot_backward",
         {.device = args.device().index,
          .blocks = dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(ceil_div(all, columns))),
          .overlaps = true},
         vector_gradient_kernel<S>, rows, rows_of_block, heads, width, columns, args.x.data<S>(),
         args.dy.data<A>(), both ? args.dy2.data<A>() : nullptr, parts.mutable_data<A>(),
         both ? parts2.mutable_data<A>() : nullptr);
  leave_sum(parts, args.da);
  if (both) leave_sum(parts2, args.da2);
}

}  // namespace

void head_dot(const HeadDotArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    constexpr int kVector = kVectorWidth<S>;
    const bool wide = args.a.size(1) % kVector == 0 && aligned_to_16(args.x.raw_data(), args.a.raw_data(),
                                                                     args.a2 ? args.a2.raw_data() : nullptr);
    wide ? dot_rows<S, kVector>(args) : dot_rows<S, 1>(args);
  });
}

void head_dot_backward(const HeadDotBackwardArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using A = Wide<S>;
    if (args.dx)
      launch("head_dot_backward",
             {.device = args.device().index, .blocks = blocks_for(args.dx.numel()), .overlaps = true},
             spread_kernel<S>, args.dx.numel(), args.a.size(0), args.a.size(1), args.a.data<S>(),
             args.a2 ? args.a2.data<S>() : nullptr, args.dy.data<A>(),
             args.dy2 ? args.dy2.data<A>() : nullptr, args.dx.mutable_data<S>());
    if (args.da || args.da2) vector_gradients<S>(args);
  });
}

}  // namespace adj::kernels::cuda
