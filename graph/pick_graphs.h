#pragma once

#include <adjoint/graph/graph.h>

namespace adj {

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
