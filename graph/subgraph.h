#pragma once

#include <adjoint/graph/graph.h>

namespace adj {

/// An induced subgraph: a mini-batch of clusters or of a sampled subgraph.
struct Subgraph {
  Graph graph;   ///< edges by target, then source, with weights and attributes
  Tensor nodes;  ///< int32 [K], ascending: node numbers in the full graph
  Tensor edges;  ///< int32 [M]: edge numbers in the full graph
};

/// Same as induced_subgraph() (graph/transforms.h), but reads only the nodes' own in-edges instead of all
/// edges. `nodes` int32 [K] in [0, N), in any order; duplicates count once. No sort. On the CPU; if the whole
/// is known to be symmetric, so is the result. Throws for a node out of range, naming its position.
Subgraph subgraph_of(const Graph& whole, const Tensor& nodes);

}  // namespace adj
