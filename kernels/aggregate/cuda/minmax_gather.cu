// Each source loops over its out-edges j -> i and sums dy_i,f where it is the winner. Reads of winners and of
// dy are in flight together, as they are independent. Parallel edges are skipped: the target's gradient is
// added once. With weighted terms each edge takes what it won itself, times its weight. Rows are summed in
// entry order, split ones in the order of their parts.
//
// Bytes: entries x width of winners and of dy (from L1 and L2 if neighbouring rows share columns), 4 per
// entry, dx once.

#include <adjoint/kernels/aggregate/cuda/neighbor_launch.cuh>
#include <adjoint/kernels/aggregate/cuda/strategies.h>

namespace adj::kernels::cuda {

namespace {

template <class S>
struct WinnerArguments {
  const ItemStart* starts;
  int items;
  const int64_t* offsets;
  const int32_t* indices;
  const int32_t* winner;
  const Sum<S>* weight;  ///< read if terms are weighted
  const int32_t* order;  ///< index of the weights; null: in entry order
  const S* dy;
  S* dx;
  Sum<S>* partial;  ///< [slots, width]
  int width;
  uint32_t winner_pitch, dy_pitch;  ///< bytes per row
  bool accumulate;
};

template <class S, int kVector, int kUnroll, bool kWeighted>
struct WinnerBody {
  using A = Sum<S>;
  const WinnerArguments<S>& a;
  const Item& item;
  const int feature;
  const bool valid;
  const char *const winner, *const dy;  ///< this lane's features of row 0
  int row, last;                        ///< the previous target
  Pack<int32_t, kVector> winners[kUnroll];
  Pack<S, kVector> gradients[kUnroll];
  A sum[kVector];
  int32_t place[kWeighted ? kUnroll : 1];
  A weight[kWeighted ? kUnroll : 1];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int v = 0; v < kVector; ++v) sum[v] = A(0);
  }
  __device__ __forceinline__ void begin() {
    clear();
    row = item.row;
    last = item.first_part ? -1 : a.indices[item.entry - 1];
  }
  __device__ __forceinline__ void gather(const Pack<int32_t, kUnroll>& neighbors, int entry) {
    if constexpr (kWeighted) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int e = min(entry + u, item.end_entry - 1);
        place[u] = a.order == nullptr ? e : __ldg(a.order + e);
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      winners[u] = gather_pack<int32_t, kVector>(row_address(winner, neighbors[u], a.winner_pitch));
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      gradients[u] = gather_pack<S, kVector>(row_address(dy, neighbors[u], a.dy_pitch));
    if constexpr (kWeighted) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) weight[u] = __ldg(a.weight + place[u]);
    }
  }
  __device__ __forceinline__ void add(int u, int32_t column, bool) {
    int32_t mine = column == last ? -2 : row;  // no winner is -2
    if constexpr (kWeighted) mine = place[u];
    last = column;
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
      A gradient = widen(gradients[u][v]);
      if constexpr (kWeighted) gradient *= weight[u];
      if (winners[u][v] == mine) sum[v] += gradient;
    }
  }
  __device__ __forceinline__ void end_row(int ended, int, int) {
    if (valid) {
      S* const output = a.dx + static_cast<int64_t>(ended) * a.width + feature;
      if (a.accumulate && item.first_part) {
        const Pack<S, kVector> before = load<kVector>(output);
#pragma unroll
        for (int v = 0; v < kVector; ++v) sum[v] += widen(before[v]);
      }
      if (item.part) {
        stream_values(a.partial + static_cast<int64_t>(item.slot) * a.width + feature, sum);
      } else {
        stream_narrow(output, sum);
      }
    }
    clear();
    row = ended + 1;
    last = -1;
  }
};

template <class S, int kVector, int kLanes, int kUnroll, bool kWeighted>
__global__ void __launch_bounds__(512) gather_kernel(const __grid_constant__ WinnerArguments<S> a) {
  begin_overlapping();
  extern __shared__ uint4 shared[];
  const int groups = blockDim.x / kLanes, lane = threadIdx.x % kLanes;
  const unsigned mask = group_mask<kLanes>();
  const int group = keep(mask, static_cast<int>(threadIdx.x / kLanes));
  int32_t* const columns = reinterpret_cast<int32_t*>(shared) + group * kStage<kLanes>;
  const int number = blockIdx.x * groups + group;
  if (number >= a.items) return;
  const Item item(a.starts[number], a.starts[number + 1]);
  const int feature = (static_cast<int>(blockIdx.y) * kLanes + lane) * kVector;
  const bool valid = feature < a.width;
  const int read = valid ? feature : 0;
  WinnerBody<S, kVector, kUnroll, kWeighted> body{
      a, item, feature, valid, keep_address(mask, a.winner + read), keep_address(mask, a.dy + read), 0, -1};
  body.begin();
  walk_item<kLanes, kUnroll>(item, a, columns, body);
}

template <class S, bool kWeighted, class... L>
void gather(ItemLayouts<L...> layouts, const NeighborMinmaxBackwardArgs& args) {
  const Csr& transposed = *args.transposed;
  const Device device = transposed.device();
  const int64_t width = args.dx.size(1);
  const SpmmPlan plan = spmm_plan(transposed);
  if (plan.items == 0 || width == 0) return;
  check_width<Sum<S>>("neighbor_minmax_backward", args.dy.size(1));
  Tensor partial = Tensor::empty({plan.slots, width}, dtype_of<Sum<S>>(), device);
  WinnerArguments<S> arguments{};
  set_structure(arguments, transposed, plan);
  arguments.winner = args.winner.template data<int32_t>();
  arguments.weight = data_or_null<Sum<S>>(args.weight);
  arguments.order = data_or_null<int32_t>(args.order);
  arguments.dy = args.dy.template data<S>() + args.part * width;
  arguments.dx = args.dx.template mutable_data<S>();
  arguments.partial = partial.template mutable_data<Sum<S>>();
  arguments.width = static_cast<int>(width);
  arguments.winner_pitch = static_cast<uint32_t>(width * static_cast<int64_t>(sizeof(int32_t)));
  arguments.dy_pitch = static_cast<uint32_t>(args.dy.size(1) * static_cast<int64_t>(sizeof(S)));
  arguments.accumulate = args.accumulate;
  SpmmArguments<S> merge{};
  merge.y = arguments.dx;
  merge.partial = arguments.partial;
  merge.width = arguments.width;
  const bool aligned = aligned_to_16(arguments.winner, args.dy.template data<S>());
  const int threads = item_threads(transposed);
  const ItemPass pass{kWeighted ? "neighbor_minmax_backward by weight" : "neighbor_minmax_backward",
                      transposed, width, args.dy.dtype(),
                      aligned ? alignment_of(args.dy, args.dx) : sizeof(S)};
  with_layout(layouts, pass, [&]<class T>() {
    static_assert(T::kChunks == 1);
    launch_items("neighbor_minmax_backward", device.index, T::kLanes, threads,
                 column_stage_bytes(threads, T::kLanes), ceil_div(width, T::kRow.slab()),
                 gather_kernel<S, T::kVector, T::kLanes, T::kUnroll, kWeighted>, arguments);
  });
  launch_merge<S>("neighbor_minmax_backward", device.index, plan, merge);
}

}  // namespace

void gather_minmax_gradient(const NeighborMinmaxBackwardArgs& args) {
  dispatch_features(args.dx.dtype(), [&]<class S>() {
    constexpr VectorLayouts<S> kLayouts;
    // In float32 two features per lane leave registers for more rows in flight, unless rows are short.
    constexpr ItemLayouts<ItemLayout<2, 32>, ItemLayout<1, 32>> kPairs;
    if constexpr (std::is_same_v<S, float>)
      if (!args.weight && args.dx.size(1) % 64 == 0 && !has_few_entries(*args.transposed))
        return gather<S, false>(kPairs, args);
    args.weight ? gather<S, true>(kLayouts, args) : gather<S, false>(kLayouts, args);
  });
}

}  // namespace adj::kernels::cuda
