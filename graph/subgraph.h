#pragma once

#include <adjoint/graph/graph.h>

namespace adj {

/// Some nodes of a graph and the edges among them: what a step on a mini-batch of clusters or of a sampled
/// subgraph takes.
struct Subgraph {
  Graph graph;   ///< edges by target, then source, with weights and attributes
  Tensor nodes;  ///< int32 [K], ascending: their numbers in the whole
  Tensor edges;  ///< int32 [M]: the edges' numbers in the whole
};

/// As induced_subgraph() (graph/transforms.h), at the cost of the nodes' own in-edges instead of all edges'.
/// `nodes` int32 [K] in [0, N), in any order; one that is given twice counts once. Nothing is sorted. On the
/// CPU; where the whole is known to be symmetric, so is the result. Throws for a node out of range, naming
/// its position.
Subgraph subgraph_of(const Graph& whole, const Tensor& nodes);

}  // namespace adj
