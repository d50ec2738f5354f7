// Products of each row's heads with one vector per head. Row n, head h begins at (n H + h) D, so the forward
// pass runs over [N H, D]. The vectors' gradients are sums over rows (columns.cuh). Nothing is saved but the
// inputs.
//
// Bytes: forward reads x once for both vectors; backward reads x once for both vectors' gradients and writes
// dx once.
#include <adjoint/kernels/attention/head_dot.h>
#include <adjoint/kernels/cuda/columns.cuh>
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj::kernels::cuda {

namespace {

/// kLanes lanes compute a product, and every `step`-th one after it, of the same head: `step` is a multiple
/// of the heads. If the lanes hold a head, the vectors stay in registers.
template <class S, int kVector, int kLanes>
__global__ void __launch_bounds__(kBlockThreads)
    dot_kernel(int64_t products, int64_t step, int64_t heads, int64_t width, const S* x, const S* a,
               const S* a2, Accumulator<S>* y, Accumulator<S>* y2) {
  using A = Accumulator<S>;
  constexpr int kInFlight = sizeof(S) == 2 ? 2 : 4;
  begin_overlapping();
  const int64_t group = (int64_t{blockIdx.x} * kBlockThreads + threadIdx.x) / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int64_t head = group % heads * width, start = int64_t{lane} * kVector;
  const bool both = a2 != nullptr;
  Pack<A, kVector> v{}, v2{};
  const auto load_vectors = [&](int64_t d) {
    v = load_wide<kVector>(a + head + d);
    if (both) v2 = load_wide<kVector>(a2 + head + d);
  };
  const bool held = width <= kLanes * kVector;
  if (held && start < width) load_vectors(start);
  for (int64_t base = 0; base < products; base += kInFlight * step) {  // the warp stays converged
    A first[kInFlight] = {}, second[kInFlight] = {};
    for (int64_t d = start; d < width; d += kLanes * kVector) {
      if (!held) load_vectors(d);
      Pack<A, kVector> row[kInFlight]{};
#pragma unroll
      for (int u = 0; u < kInFlight; ++u)
        if (const int64_t p = base + u * step + group; group < step && p < products)
          row[u] = load_wide<kVector>(x + p * width + d);
#pragma unroll
      for (int u = 0; u < kInFlight; ++u)
#pragma unroll
        for (int k = 0; k < kVector; ++k) {
          first[u] = fma(row[u][k], v[k], first[u]);
          if (both) second[u] = fma(row[u][k], v2[k], second[u]);
        }
    }
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      first[u] = sum_of_lanes<kLanes>(first[u]);
      if (both) second[u] = sum_of_lanes<kLanes>(second[u]);
      const int64_t p = base + u * step + group;
      if (lane != 0 || group >= step || p >= products) continue;
      y[p] = first[u];
      if (both) y2[p] = second[u];
    }
  }
}

template <class S, int kVector>
void dot_rows(const HeadDotArgs& args) {
  using A = Accumulator<S>;
  const int64_t heads = args.a.size(0), width = args.a.size(1), products = args.x.size(0) * heads;
  if (products == 0) return;
  const int device = args.x.device().index;
  const auto run = [&]<int kLanes>() {
    const int64_t most = int64_t{properties(device).multiprocessors} * 8;
    const int64_t blocks = std::max(std::min<int64_t>(ceil_div(products * kLanes, kBlockThreads), most),
                                    ceil_div(heads * kLanes, int64_t{kBlockThreads}));
    const int64_t step = blocks * (kBlockThreads / kLanes) / heads * heads;
    launch("head_dot", overlapping(device, grid(blocks)), dot_kernel<S, kVector, kLanes>, products, step,
           heads, width, args.x.data<S>(), args.a.data<S>(), data_or_null<S>(args.a2),
           args.y.mutable_data<A>(), mutable_data_or_null<A>(args.y2));
  };
  const int64_t packs = ceil_div(width, kVector);
  if (packs <= 2) return run.template operator()<2>();
  if (packs <= 8) return run.template operator()<8>();
  if (packs <= 16) return run.template operator()<16>();
  run.template operator()<32>();
}

/// dx = dy a + dy2 a2, one thread per element.
template <class S>
struct Spread {
  int64_t heads, width;
  const S *a, *a2;
  const Accumulator<S>*dy, *dy2;
  S* dx;

  __device__ void operator()(int64_t i) const {
    using A = Accumulator<S>;
    const int64_t p = i / width, index = p % heads * width + i % width;
    A value = dy[p] * widen(a[index]);
    if (a2 != nullptr) value = fma(dy2[p], A(widen(a2[index])), value);
    dx[i] = narrow<S>(value);
  }
};

/// Column sums Σ dy x, Σ dy2 x and Σ d_o, or the first of them. A pack of columns is within one head.
template <class S, int kSums, int N>
struct VectorGradients {
  using A = Accumulator<S>;
  using Term = A;
  const S* x;
  const A* dy;
  const A* dy2;
  const S* d_o;
  int64_t heads;
  int64_t width;
  S* da;
  S* da2;
  S* dbias;

  __device__ int64_t open(int64_t pack) const { return pack * N / width; }
  __device__ void add(int64_t head, int64_t row, int64_t pack, Term (&sum)[kSums][N]) const {
    const Pack<A, N> value = load_wide<N>(x + row * heads * width + pack * N);
    const A g = dy[row * heads + head];
#pragma unroll
    for (int c = 0; c < N; ++c) sum[0][c] = fma(g, value[c], sum[0][c]);
    if constexpr (kSums >= 2) {
      const A g2 = dy2[row * heads + head];
#pragma unroll
      for (int c = 0; c < N; ++c) sum[1][c] = fma(g2, value[c], sum[1][c]);
    }
    if constexpr (kSums == 3) {
      const Pack<A, N> more = load_wide<N>(d_o + row * heads * width + pack * N);
#pragma unroll
      for (int c = 0; c < N; ++c) sum[2][c] += more[c];
    }
  }
  __device__ void finish(int64_t column, const double (&total)[kSums]) const {
    if (da != nullptr) da[column] = narrow<S>(static_cast<A>(total[0]));
    if constexpr (kSums >= 2)
      if (da2 != nullptr) da2[column] = narrow<S>(static_cast<A>(total[1]));
    if constexpr (kSums == 3) dbias[column] = narrow<S>(static_cast<A>(total[2]));
  }
};

template <class S>
void vector_gradients(const HeadDotBackwardArgs& args) {
  using A = Accumulator<S>;
  const int64_t rows = args.x.size(0), heads = args.a.size(0), width = args.a.size(1);
  const auto sum = [&]<int kSums, int N>() {
    const VectorGradients<S, kSums, N> body{.x = args.x.data<S>(),
                                            .dy = args.dy.data<A>(),
                                            .dy2 = kSums >= 2 ? args.dy2.data<A>() : nullptr,
                                            .d_o = kSums == 3 ? args.d_o.data<S>() : nullptr,
                                            .heads = heads,
                                            .width = width,
                                            .da = mutable_data_or_null<S>(args.da),
                                            .da2 = mutable_data_or_null<S>(args.da2),
                                            .dbias = mutable_data_or_null<S>(args.dbias)};
    sum_over_rows<kSums, N>("head_dot_backward", args.x.device().index, rows, heads * width, body);
  };
  const bool aligned = aligned_to_16(args.x.raw_data(), args.d_o ? args.d_o.raw_data() : nullptr);
  dispatch_pack<S>(width, aligned, [&]<int N>() {
    if constexpr (N <= 4) {  // three sums of wider packs exceed shared memory
      if (args.d_o) return sum.template operator()<3, N>();
    }
    if (args.d_o) cuda::sum_rows({.x = args.d_o, .y = args.dbias});
    args.a2 ? sum.template operator()<2, N>() : sum.template operator()<1, N>();
  });
}

// A thread computes one column of y in a few rows and loads each weight once for all of them. The threads of
// a head read rows of x together. Bytes: x and y once, the weight from L1.

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
    using A = Accumulator<S>;
    if (args.dx)
      for_each("head_dot_backward", args.x.device().index, args.dx.numel(),
               Spread<S>{args.a.size(0), args.a.size(1), args.a.data<S>(), data_or_null<S>(args.a2),
                         args.dy.data<A>(), data_or_null<A>(args.dy2), args.dx.mutable_data<S>()});
    if (args.da || args.da2) vector_gradients<S>(args);
  });
}

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
