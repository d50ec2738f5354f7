// Gradients of the weights of a maximum: a group of lanes per edge scans its target's winners and reads
// gradients and features only of packs in which the edge won, about one in the target's number of edges. A
// lane sums its features, then a fixed tree sums the lanes, so that the bits depend on the width and on
// whether rows are aligned for wide reads.
//
// Bytes: per edge a row of winners (from L1 and L2, as the edges of a target are adjacent), what it won of dy
// and x, and 12 for the edge itself. Nothing is saved or recomputed.

#include <adjoint/kernels/aggregate/minmax_weights.h>
#include <adjoint/kernels/cuda/reduction.cuh>

namespace adj::kernels::cuda {

namespace {

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

}  // namespace

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
    const int device = args.device().index;
    if (width % 4 == 0 && aligned_to_16(a.winner, a.dy, a.x)) return run<S, 4>(a, device);
    run<S, 1>(a, device);
  });
}

}  // namespace adj::kernels::cuda
