#pragma once

#include <adjoint/graph/graph.h>

namespace adj {

/// Some of the graphs of a block-diagonal graph, as one block-diagonal graph again: what a step on a
/// mini-batch of small graphs takes.
struct PickedGraphs {
  Graph graph;     ///< with weights and attributes of the edges
  Tensor offsets;  ///< int64 [K + 1]: the k-th graph picked has the nodes offsets[k] to offsets[k + 1]
  Tensor nodes;    ///< int32 [N]: their numbers in the whole
};

/// `offsets` int64 [G + 1]: graph g of `whole` has the nodes offsets[g] to offsets[g + 1], and every edge
/// stays within one graph; `which` int32 [K] in [0, G), in any order, repeats allowed. All on the CPU. Rows
/// are copied as they stand, O(nodes + edges picked), and nothing is sorted; where the whole is known to be
/// symmetric, so is what was picked. Edges go by the CSR's order. Throws where an index or the offsets are
/// out of range, naming the place, and for an edge that leads out of a picked graph.
PickedGraphs pick_graphs(const Graph& whole, const Tensor& offsets, const Tensor& which);

}  // namespace adj
