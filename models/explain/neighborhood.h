#pragma once

#include <adjoint/graph/graph.h>

#include <optional>
#include <vector>

namespace adj::models {

/// The part of a graph from which messages reach some nodes.
struct Neighborhood {
  std::vector<int32_t> nodes;  ///< numbers in the whole graph, ascending
  /// Of these nodes, with weights and attributes: all in-edges of nodes up to `hops` hops away, so that
  /// degrees of every sender are those of the whole graph.
  Graph graph;
  std::vector<int32_t> edges;     ///< by edge number in `graph`: the number in the whole graph
  std::vector<int32_t> reaching;  ///< edges of `graph`, ascending, whose messages reach the targets

  /// The first edge of `graph` between these nodes of the whole; the target must be one of the targets.
  std::optional<int32_t> edge_between(int64_t src, int64_t dst) const;
  int32_t place(int64_t node) const;  ///< number in `graph` of a node of the whole; it must be in `nodes`
};

/// Of layers that pass messages over `hops` >= 1 edges in a row to the `targets`. On the CPU, as the graph.
/// Takes 4 bytes per node of the whole, and time in proportion to the neighbourhood's edges.
Neighborhood neighborhood_of(const Graph& whole, const std::vector<int32_t>& targets, int64_t hops);

}  // namespace adj::models
