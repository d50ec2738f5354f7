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

/// A selection of the graphs of a block-diagonal graph, again block-diagonal: a mini-batch of small graphs.
struct PickedGraphs {
  Graph graph;     ///< with edge weights and attributes
  Tensor offsets;  ///< int64 [K + 1]: the k-th picked graph has the nodes offsets[k] to offsets[k + 1]
  Tensor nodes;    ///< int32 [N]: their node numbers in the full graph
};

/// `offsets` int64 [G + 1]: graph g of `whole` has the nodes offsets[g] to offsets[g + 1], and no edge
/// crosses graphs; `which` int32 [K] in [0, G), in any order, repeats allowed. All on the CPU. Rows are
/// copied without sorting, O(nodes + edges picked); if the whole is known to be symmetric, so is the result.
/// Edges are numbered in CSR order. Throws if an index or the offsets are out of range, naming the position,
/// and for an edge that leaves a picked graph.
PickedGraphs pick_graphs(const Graph& whole, const Tensor& offsets, const Tensor& which);

}  // namespace adj
