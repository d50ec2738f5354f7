#pragma once

#include <adjoint/core/device.h>

#include <cstdint>

namespace adj {

/// How neighbours are summed for a relation given as an edge list with nothing derived yet (fuseGNN, Chen et
/// al. 2020, section 5). `reduce` (GAR): sorts the list into CSR and, for a backward pass, its transpose, and
/// sums each row in registers. `scatter` (GAS): adds each edge's source row to its target over the unsorted
/// list. Both are deterministic, but their bits differ: the summation order is not the same. `automatic`:
/// chosen by the rule below, never by a measurement.
enum class Aggregation : uint8_t { automatic, reduce, scatter };

/// Process-wide, from the next sum on. A relation that began as CSR, as from Graph::from_coo, is always
/// reduced.
void set_aggregation(Aggregation way);
Aggregation aggregation();

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
  bool scatters() const { return scattering < sorting; }
};

/// The rule of Aggregation::automatic for a list over `nodes` nodes (the larger side), with machine constants
/// for CPU and GPU (docs/benchmarks.md). A function of its arguments only, so the same program always makes
/// the same choice. The list is sorted if `sums` is 0.
AggregationCost aggregation_cost(int64_t nodes, int64_t edges, const ListUse& use, Device device);

}  // namespace adj
