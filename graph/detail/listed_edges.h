#pragma once

#include <adjoint/graph/graph.h>

namespace adj::detail {

/// The edges of a graph in the order of the list that it was made from (Graph::input_order), else by number.
struct ListedEdges {
  Tensor number;  ///< int32 [M]: the graph's number of the k-th edge; absent: k
  EdgeIndex ends;
  Tensor weight;  ///< absent for an unweighted graph
  EdgeAttributes attributes;
};
ListedEdges listed_edges(const Graph& graph);

}  // namespace adj::detail
