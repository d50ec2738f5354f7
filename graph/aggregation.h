#pragma once

#include <adjoint/core/device.h>
#include <adjoint/kernels/compute_context.h>

#include <cstdint>

namespace adj {

namespace detail {

/// What an edge list is for, where that is known: fewer sums than sorting pays for.
struct ListUse {
  int64_t sums = 0;      ///< over neighbours, forward and backward, while it lives; 0: not known, many
  int64_t width = 0;     ///< of their features, on average
  bool backward = true;  ///< are there sums over the transpose, for which it is sorted a second time?
};

/// What the rule weighs, in nanoseconds.
struct AggregationCost {
  double sorting = 0.0;     ///< into CSR and, with a backward pass, its transpose
  double scattering = 0.0;  ///< that all sums take longer over the list than over sorted rows
  bool scatters() const { return scattering < sorting; }
};

/// The rule of Aggregation::automatic for a list between so many nodes (the larger side), by constants of a
/// machine each for CPU and GPU (docs/benchmarks.md): a function of these numbers alone, so that the same
/// program takes the same way in every run. Where `sums` is 0 the list is sorted.
AggregationCost aggregation_cost(int64_t nodes, int64_t edges, const ListUse& use, Device device);

}  // namespace detail

}  // namespace adj
