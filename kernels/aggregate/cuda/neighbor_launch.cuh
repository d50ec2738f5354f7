#pragma once

// Layouts and launches of neighbor_kernel; all layouts give the same bits.

#include <adjoint/kernels/aggregate/cuda/neighbor_kernels.cuh>
#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>

namespace adj::kernels::cuda {

/// Layouts that differ in the vectors of a row. Narrow ones have less state in registers.
using NarrowLayouts =
    ItemLayouts<ItemLayout<4, 32>, ItemLayout<2, 32>, ItemLayout<1, 32>, ItemLayout<2, 8>, ItemLayout<1, 8>>;
/// Layouts of vectors of four features in groups of any size, for passes with little state.
template <class S>
using VectorLayouts =
    std::conditional_t<std::is_same_v<S, double>, ScalarLayouts,
                       ItemLayouts<ItemLayout<4, 32>, ItemLayout<4, 16>, ItemLayout<4, 8>, ItemLayout<4, 4>,
                                   ItemLayout<2, 32>, ItemLayout<1, 32>, ItemLayout<1, 8>>>;

/// The shared memory of a block whose groups of `lanes` have one stage of columns each.
inline size_t column_stage_bytes(int threads, int lanes) {
  const int stage = lanes >= 16 ? lanes : lanes >= 8 ? 16 : 8;
  return static_cast<size_t>(threads / lanes) * static_cast<size_t>(stage) * sizeof(int32_t);
}

/// The reductions in one pass, for features stored as S. Instantiated in one file for float, one for
/// bfloat16.
template <class S>
void reduce_neighbors(const NeighborReduceArgs& args);

template <>
void reduce_neighbors<float>(const NeighborReduceArgs& args);
template <>
void reduce_neighbors<double>(const NeighborReduceArgs& args);
template <>
void reduce_neighbors<bfloat16>(const NeighborReduceArgs& args);

/// The workspace of `count` slots or runs.
template <class S, bool kMax, bool kMin, bool kMoments>
struct PartsOfRows {
  using A = Sum<S>;
  static constexpr int kMinMax = (kMax ? 1 : 0) + (kMin ? 1 : 0), kValues = kMinMax + (kMoments ? 3 : 0);
  Tensor values, winners;
  NeighborParts<A> addresses{};

  PartsOfRows(int64_t count, int64_t width, Device device)
      : values(Tensor::empty({kValues * count, width}, dtype_of<A>(), device)),
        winners(Tensor::empty({kMinMax * count, width}, DType::i32, device)) {
    A* next = values.template mutable_data<A>();
    int32_t* next_winner = winners.mutable_data<int32_t>();
    const auto take = [&](int part) {
      addresses.value[part] = next;
      next += count * width;
      if (part > kSmallestPart) return;
      addresses.winner[part] = next_winner;
      next_winner += count * width;
    };
    if constexpr (kMax) take(kLargestPart);
    if constexpr (kMin) take(kSmallestPart);
    if constexpr (kMoments)
      for (int part : {kSumPart, kOffPart, kSquarePart}) take(part);
  }
};

/// Implementation with these layouts and parts.
template <class S, bool kMax, bool kMin, bool kMoments, bool kWeighted = false, class... L>
void run_neighbor_kernel(ItemLayouts<L...> layouts, const NeighborReduceArgs& args) {
  using A = Sum<S>;
  const Csr& csr = args.a;
  const Device device = csr.device();
  const int64_t width = args.x.size(1);
  using Parts = PartsOfRows<S, kMax, kMin, kMoments>;
  const SpmmPlan plan = spmm_plan(csr);
  if (plan.items == 0 || width == 0) return;
  check_width<S>("neighbor_reduce", width);
  const Parts slots(plan.slots, width, device), runs(plan.runs, width, device);

  NeighborArguments<S> arguments{};
  set_structure(arguments, csr, plan);
  arguments.x = args.x.data<S>();
  arguments.weight = data_or_null<A>(args.weight);
  arguments.order = data_or_null<int32_t>(args.order);
  arguments.width = static_cast<int>(width);
  arguments.pitch = static_cast<uint32_t>(width * static_cast<int64_t>(sizeof(S)));
  arguments.y = args.y.template mutable_data<S>();
  const ReductionSet set("neighbor_reduce", args.reduce);
  arguments.count = set.count;
  for (int k = 0; k < kReductions; ++k) arguments.place[k] = set.place[static_cast<size_t>(k)];
  Tensor largest = args.max_winner, smallest = args.min_winner, mean = args.mean;
  arguments.winner[0] = mutable_data_or_null<int32_t>(largest);
  arguments.winner[1] = mutable_data_or_null<int32_t>(smallest);
  arguments.mean = mutable_data_or_null<A>(mean);
  std::ranges::copy(slots.addresses.value, arguments.part);
  std::ranges::copy(slots.addresses.winner, arguments.part_winner);

  // Winners and means are written in vectors too.
  const bool aligned = aligned_to_16(arguments.winner[0], arguments.winner[1], arguments.mean);
  const int threads = item_threads(csr);
  constexpr const char* kSubject = kMoments
                                       ? (kMax ? "neighbor_reduce to several" : "neighbor_reduce to sums")
                                   : kMax && kWeighted ? "neighbor_reduce to the largest by weight"
                                   : kMax              ? "neighbor_reduce to the largest"
                                   : kWeighted         ? "neighbor_reduce to the smallest by weight"
                                                       : "neighbor_reduce to the smallest";
  const ItemPass pass{kSubject, csr, width, args.x.dtype(),
                      aligned ? alignment_of(args.x, args.y) : sizeof(S)};
  with_layout(layouts, pass, [&]<class T>() {
    static_assert(T::kChunks == 1);
    launch_items("neighbor_reduce", device.index, T::kLanes, threads, column_stage_bytes(threads, T::kLanes),
                 ceil_div(width, T::kRow.slab()),
                 neighbor_kernel<S, T::kVector, T::kLanes, T::kUnroll, kMax, kMin, kMoments, kWeighted>,
                 arguments);
  });
  if (plan.heavy_rows == 0) return;
  const auto slabs = static_cast<unsigned>(ceil_div(width, 32));
  launch("neighbor_reduce", merge_shape(device.index, plan.runs, slabs),
         merge_neighbor_runs_kernel<S, kMax, kMin, kMoments>, plan.slot_run_list(), plan.slot_run_count(),
         arguments.width, slots.addresses, runs.addresses);
  launch("neighbor_reduce", merge_shape(device.index, plan.heavy_rows, slabs),
         merge_neighbors_kernel<S, kMax, kMin, kMoments>, plan.heavy_row_list(), plan.heavy_row_count(),
         arguments, runs.addresses);
}

/// The kernels that compute the requested reductions with the least unneeded work; `minmax` are the layouts
/// for one maximum or minimum.
template <class S, class Layouts>
void reduce_neighbors_with(Layouts minmax, const NeighborReduceArgs& args) {
  const ReductionSet set("neighbor_reduce", args.reduce);
  const bool max = set.has(Reduce::max), min = set.has(Reduce::min);
  if (args.weight) {
    using Weighted = std::conditional_t<std::is_same_v<S, bfloat16>, NarrowLayouts, VectorLayouts<S>>;
    return max ? run_neighbor_kernel<S, true, false, false, true>(Weighted(), args)
               : run_neighbor_kernel<S, false, true, false, true>(Weighted(), args);
  }
  using More = std::conditional_t<std::is_same_v<S, double>, ScalarLayouts, NarrowLayouts>;
  if (set.has_moments() && !max && !min) return run_neighbor_kernel<S, false, false, true>(More(), args);
  if (set.has_moments() || (max && min)) return run_neighbor_kernel<S, true, true, true>(More(), args);
  max ? run_neighbor_kernel<S, true, false, false>(minmax, args)
      : run_neighbor_kernel<S, false, true, false>(minmax, args);
}

}  // namespace adj::kernels::cuda
