#include <adjoint/kernels/aggregate/cuda/neighbor_launch.cuh>

namespace adj::kernels::cuda {

template <>
void reduce_neighbors<bfloat16>(const NeighborReduceArgs& args) {
  using S = bfloat16;
  static constexpr NeighborVariant<S> kMax[] = {neighbor_variant<S, 8, 32, 1, 4, true, false, false>(),
                                                neighbor_variant<S, 8, 16, 1, 4, true, false, false>(),
                                                neighbor_variant<S, 8, 8, 1, 4, true, false, false>(),
                                                neighbor_variant<S, 8, 4, 1, 4, true, false, false>(),
                                                neighbor_variant<S, 4, 32, 1, 4, true, false, false>(),
                                                neighbor_variant<S, 4, 32, 1, 8, true, false, false>(),
                                                neighbor_variant<S, 2, 32, 1, 4, true, false, false>(),
                                                neighbor_variant<S, 1, 32, 1, 4, true, false, false>(),
                                                neighbor_variant<S, 1, 8, 1, 4, true, false, false>()};
  static constexpr NeighborVariant<S> kMin[] = {neighbor_variant<S, 8, 32, 1, 4, false, true, false>(),
                                                neighbor_variant<S, 8, 16, 1, 4, false, true, false>(),
                                                neighbor_variant<S, 8, 8, 1, 4, false, true, false>(),
                                                neighbor_variant<S, 8, 4, 1, 4, false, true, false>(),
                                                neighbor_variant<S, 4, 32, 1, 4, false, true, false>(),
                                                neighbor_variant<S, 4, 32, 1, 8, false, true, false>(),
                                                neighbor_variant<S, 2, 32, 1, 4, false, true, false>(),
                                                neighbor_variant<S, 1, 32, 1, 4, false, true, false>(),
                                                neighbor_variant<S, 1, 8, 1, 4, false, true, false>()};
  static constexpr NeighborVariant<S> kMoments[] = {neighbor_variant<S, 8, 16, 1, 4, false, false, true>(),
                                                    neighbor_variant<S, 8, 8, 1, 4, false, false, true>(),
                                                    neighbor_variant<S, 8, 4, 1, 4, false, false, true>(),
                                                    neighbor_variant<S, 4, 32, 1, 4, false, false, true>(),
                                                    neighbor_variant<S, 1, 32, 1, 4, false, false, true>(),
                                                    neighbor_variant<S, 1, 8, 1, 4, false, false, true>()};
  static constexpr NeighborVariant<S> kEvery[] = {neighbor_variant<S, 8, 16, 1, 4, true, true, true>(),
                                                  neighbor_variant<S, 8, 8, 1, 4, true, true, true>(),
                                                  neighbor_variant<S, 8, 4, 1, 4, true, true, true>(),
                                                  neighbor_variant<S, 4, 32, 1, 4, true, true, true>(),
                                                  neighbor_variant<S, 1, 32, 1, 4, true, true, true>(),
                                                  neighbor_variant<S, 1, 8, 1, 4, true, true, true>()};
  if (args.weight)
    return args.reduce[0] == Reduce::max ? reduce_weighted_neighbors<S, true>(args)
                                         : reduce_weighted_neighbors<S, false>(args);
  choose_parts(
      args, [&] { run_neighbor_kernel<S, true, false, false>(kMax, kLargestItems, args); },
      [&] { run_neighbor_kernel<S, false, true, false>(kMin, kSmallestItems, args); },
      [&] { run_neighbor_kernel<S, false, false, true>(kMoments, kMomentItems, args); },
      [&] { run_neighbor_kernel<S, true, true, true>(kEvery, kEveryItems, args); });
}

}  // namespace adj::kernels::cuda
