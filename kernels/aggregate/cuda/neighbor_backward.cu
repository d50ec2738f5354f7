// Scatter costs one atomic per result, gather 8 bytes per edge and feature, most of them from the caches: if
// there are few edges per row, gather is cheaper. The method, and with it the bits, depends only on the
// arguments (minmax_backward_gathers).
#include <adjoint/kernels/aggregate/ascending_rows.h>
#include <adjoint/kernels/aggregate/cuda/strategies.h>
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/cuda/reduction.cuh>

namespace adj::kernels::cuda {

namespace {

// Gradients of the weights of a maximum: a group of lanes per edge scans its target's winners and reads
// gradients and features only of packs in which the edge won, about one in the target's number of edges. A
// lane sums its features, then a fixed tree sums the lanes, so that the bits depend on the width and on
// whether rows are aligned for wide reads.
//
// Bytes: per edge a row of winners (from L1 and L2, as the edges of a target are adjacent), what it won of dy
// and x, and 12 for the edge itself. Nothing is saved or recomputed.

template <class S>
struct WeightArguments {
  int64_t edges;
  const int32_t *row, *col, *winner;
  const S *dy, *x;
  Accumulator<S>* dw;
  int width;
};

template <class S, int N, int kLanes>
__global__ void __launch_bounds__(kBlockThreads)
    weight_gradient_kernel(const __grid_constant__ WeightArguments<S> a) {
  begin_overlapping();
  const int64_t edge = (blockIdx.x * int64_t{kBlockThreads} + threadIdx.x) / kLanes;
  const int lane = threadIdx.x % kLanes;
  Accumulator<S> sum = 0;
  if (edge < a.edges) {
    const int64_t target = int64_t{a.row[edge]} * a.width, source = int64_t{a.col[edge]} * a.width;
    const auto mine = static_cast<int32_t>(edge);
#pragma unroll 2
    for (int f = lane * N; f < a.width; f += kLanes * N) {
      const Pack<int32_t, N> winner = load<N>(a.winner + target + f);
      bool any = false;
#pragma unroll
      for (int v = 0; v < N; ++v) any = any || winner[v] == mine;
      if (!any) continue;
      const Pack<Accumulator<S>, N> dy = load_wide<N>(a.dy + target + f), x = load_wide<N>(a.x + source + f);
#pragma unroll
      for (int v = 0; v < N; ++v)
        if (winner[v] == mine) sum += dy[v] * x[v];
    }
  }
  sum = sum_of_lanes<kLanes>(sum);
  if (lane == 0 && edge < a.edges) a.dw[edge] = sum;
}

/// The fewest lanes that cover a row.
template <class S, int N>
void run(const WeightArguments<S>& a, int device) {
  const auto with = [&]<int kLanes>() {
    launch("minmax_weight_gradient", over(device, a.edges * kLanes), weight_gradient_kernel<S, N, kLanes>, a);
  };
  a.width <= 4 * N    ? with.template operator()<4>()
  : a.width <= 8 * N  ? with.template operator()<8>()
  : a.width <= 16 * N ? with.template operator()<16>()
                      : with.template operator()<32>();
}

// Elementwise. Bytes: per term its parts of dy, and for var and std the mean, for std the deviation, once;
// terms once. The gradient reads x and two sums and writes dx.

template <class S>
struct TermsArguments {
  const int64_t* offsets;
  int64_t rows;
  int width, count;
  int place[kReductions];
  const S *dy, *y;
  const Accumulator<S>* mean;  ///< null: neither var nor std
  Accumulator<S>* terms;
};

template <class S>
__global__ void __launch_bounds__(kBlockThreads) terms_kernel(const __grid_constant__ TermsArguments<S> a) {
  using T = Accumulator<S>;
  begin_overlapping();
  const int64_t step = int64_t{gridDim.x} * kBlockThreads;
  for (int64_t k = blockIdx.x * int64_t{kBlockThreads} + threadIdx.x; k < a.rows * a.width; k += step) {
    const int64_t row = k / a.width, feature = k - row * a.width;
    const int64_t length = a.offsets[row + 1] - a.offsets[row];
    const T share = length > 0 ? T(1) / static_cast<T>(length) : T(0);
    const auto place = [&](Reduce reduce) { return a.place[static_cast<int>(reduce)]; };
    const auto part = [&](const S* values, Reduce reduce) {
      return widen(values[(row * a.count + place(reduce)) * a.width + feature]);
    };
    T first = 0, second = 0;
    if (place(Reduce::sum) >= 0 && length > 0) first += part(a.dy, Reduce::sum);
    if (place(Reduce::mean) >= 0) first += share * part(a.dy, Reduce::mean);
    if (place(Reduce::var) >= 0) second += 2 * share * part(a.dy, Reduce::var);
    if (place(Reduce::std) >= 0) {
      const T root = part(a.y, Reduce::std);
      if (root != T(0)) second += share * part(a.dy, Reduce::std) / root;
    }
    if (a.mean == nullptr) {
      a.terms[k] = first;
    } else {
      T* const output = a.terms + row * 2 * a.width + feature;
      output[0] = first - second * a.mean[k];
      output[a.width] = second;
    }
  }
}

template <class S>
__global__ void __launch_bounds__(kBlockThreads)
    gradient_kernel(int64_t numel, int width, const S* x, const Accumulator<S>* sums, S* dx) {
  begin_overlapping();
  const int64_t step = int64_t{gridDim.x} * kBlockThreads;
  for (int64_t k = blockIdx.x * int64_t{kBlockThreads} + threadIdx.x; k < numel; k += step) {
    const int64_t row = k / width;
    const Accumulator<S>* const sum = sums + row * 2 * width + (k - row * width);
    dx[k] = narrow<S>(sum[0] + widen(x[k]) * sum[width]);
  }
}

}  // namespace

void neighbor_minmax_backward(const NeighborMinmaxBackwardArgs& args) {
  if (args.transposed == nullptr) return scatter_minmax_gradient(args);
  if (!parallel_entries_apart(args)) return gather_minmax_gradient(args);
  const Csr transposed = with_ascending_rows(*args.transposed, transpose);
  NeighborMinmaxBackwardArgs again = args;
  again.transposed = &transposed;
  gather_minmax_gradient(again);
}

void minmax_weight_gradient(const MinmaxWeightGradientArgs& args) {
  if (args.a.entries() == 0) return;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const int64_t width = args.x.size(1);
    const WeightArguments<S> a{args.a.entries(),
                               args.a.row.data<int32_t>(),
                               args.a.col.data<int32_t>(),
                               args.winner.data<int32_t>(),
                               args.dy.data<S>(),
                               args.x.data<S>(),
                               args.dw.mutable_data<Accumulator<S>>(),
                               static_cast<int>(width)};
    const int device = args.x.device().index;
    if (width % 4 == 0 && aligned_to_16(a.winner, a.dy, a.x)) return run<S, 4>(a, device);
    run<S, 1>(a, device);
  });
}

void moment_terms(const MomentTermsArgs& args) {
  const ReductionSet set("moment_terms", args.reduce);
  const int device = args.dy.device().index;
  dispatch_features(args.dy.dtype(), [&]<class S>() {
    TermsArguments<S> a{};
    a.offsets = args.a.offsets.data<int64_t>();
    a.rows = args.a.rows;
    a.width = static_cast<int>(args.dy.size(1) / set.count);
    a.count = set.count;
    for (int k = 0; k < kReductions; ++k) a.place[k] = set.place[static_cast<size_t>(k)];
    a.dy = args.dy.data<S>();
    if (set.has(Reduce::std)) a.y = args.y.data<S>();
    if (set.has_spread()) a.mean = args.mean.data<Accumulator<S>>();
    a.terms = args.terms.mutable_data<Accumulator<S>>();
    launch("moment_terms", over(device, a.rows * a.width, 4), terms_kernel<S>, a);
  });
}

void moments_gradient(const MomentsGradientArgs& args) {
  const int64_t numel = args.x.numel();
  dispatch_features(args.x.dtype(), [&]<class S>() {
    launch("moments_gradient", over(args.x.device().index, numel, 4), gradient_kernel<S>, numel,
           static_cast<int>(args.x.size(1)), args.x.data<S>(), args.sums.data<Accumulator<S>>(),
           args.dx.mutable_data<S>());
  });
}

}  // namespace adj::kernels::cuda
