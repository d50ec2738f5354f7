#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/graph.h>

namespace adj {

/// A graph derived from another, and the mapping of its edges. Made on the graph's device; edges are numbered
/// by target, then source. Attributes follow their edges. When edges merge, floating attributes merge as
/// weights do, integer ones are taken from the first edge; those of added edges are 0.
struct Transformed : Graph {
  Transformed(Graph graph, Tensor edges, Tensor became)
      : Graph(std::move(graph)), edge_map(std::move(edges)), merged_into(std::move(became)) {}

  Tensor edge_map;  ///< int32 [M']: the old number of new edge e, the first if several were merged; -1: added
  Tensor merged_into;  ///< int32 [M]: the new edge that contains old edge e; -1: removed
};

/// Both directions of every edge; duplicates are merged and their weights averaged (an edge given in both
/// directions keeps its weight), bitwise equal in both directions. An old edge is part of two new ones:
/// `merged_into` is the one in the edge's direction.
Transformed to_undirected(const Graph& graph);
/// Adds a self-loop of weight `weight` to every node without one. A weight other than 1 makes an unweighted
/// graph weighted.
Transformed add_self_loops(const Graph& graph, float weight = 1.0f);
Transformed remove_self_loops(const Graph& graph);  ///< drops all, also parallel ones
/// Merges duplicate edges, adding their weights (parallel edges of an unweighted graph merge into one
/// unweighted edge).
Transformed coalesce(const Graph& graph);
/// The subgraph induced by `nodes` (int32 [K], distinct), renumbered 0 … K - 1 in that order.
Transformed induced_subgraph(const Graph& graph, const Tensor& nodes);
/// The same graph with its nodes reordered (graph/order/orders.h): new node i is old node order[i], `order`
/// int32 [N] a permutation. Throws otherwise. Duplicate edges keep their order, so the inverse order restores
/// a graph with CSR edge numbers bit for bit.
Transformed permuted(const Graph& graph, const Tensor& order);
/// All nodes, with only the edges `edges` (int32 [K], distinct edge numbers).
Transformed edge_subgraph(const Graph& graph, const Tensor& edges);
/// Drops each edge with probability p in [0, 1), drawn by edge number from one stream of `generator`
/// (DropEdge, Rong et al. 2020; PyG's dropout_edge). `force_undirected`, for graphs with both directions of
/// every edge: only edges from a smaller to a larger node are drawn, and each is kept or dropped in both
/// directions. The kept reverse edges are copies of these, with their weights and attributes; the original
/// reverse edges are ignored, and `merged_into` is a kept edge between the same nodes. With `training` false
/// all edges are kept. Synchronizes to read the number of kept edges.
Transformed dropout_edge(const Graph& graph, float p = 0.5f, bool force_undirected = false,
                         bool training = true, Generator& generator = default_generator());
/// Every edge reversed, with the same number, weight and attributes. Free: both graphs share all forms.
Graph reverse(const Graph& graph);

}  // namespace adj
