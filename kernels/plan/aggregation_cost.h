#pragma once

#include <adjoint/core/device.h>

#include <cstdint>

namespace adj::kernels {

/// Expected use of an edge list, if known: a list with few sums is not worth sorting.
struct ListUse {
  int64_t sums = 0;      ///< number of sums over neighbours, forward and backward, in its lifetime; 0:
                         ///< unknown, many
  int64_t width = 0;     ///< mean feature width
  bool backward = true;  ///< sums over the transpose, which needs a second sort
};

/// Costs compared by the rule, in nanoseconds.
struct AggregationCost {
  double sorting = 0.0;     ///< into CSR and, with a backward pass, the transpose
  double scattering = 0.0;  ///< extra time of all sums over the list instead of sorted rows
  bool scatters() const { return scattering < sorting; }  ///< if so, the list is not sorted
};

/// The rule of Aggregation::automatic for a list over `nodes` nodes (the larger side), with machine constants
/// for CPU and GPU (docs/benchmarks.md). A function of its arguments only, so the same program always makes
/// the same choice. The list is sorted if `sums` is 0.
AggregationCost aggregation_cost(int64_t nodes, int64_t edges, const ListUse& use, Device device);

}  // namespace adj::kernels
