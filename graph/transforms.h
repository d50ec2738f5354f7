#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/graph.h>

namespace adj {

/// A graph made from another, and the way its edges went. Made on the device where the graph is; its edges
/// are numbered by target, then source. Attributes follow their edges: where edges merge, floating ones merge
/// as the weights do and whole numbers are those of the first edge; those of an added edge are 0.
struct Transformed : Graph {
  Transformed(Graph graph, Tensor edges, Tensor became)
      : Graph(std::move(graph)), edge_map(std::move(edges)), merged_into(std::move(became)) {}

  Tensor edge_map;  ///< int32 [M']: new edge e was edge edge_map[e], the first of those that it merges; -1:
                    ///< added
  Tensor merged_into;  ///< int32 [M]: old edge e is (part of) new edge merged_into[e]; -1: removed
};

/// Both directions of every edge; equal edges are merged, their weights averaged (an edge given in both
/// directions keeps its weight), to the same bits in both directions. An old edge is part of two new ones:
/// `merged_into` names that of its own direction.
Transformed to_undirected(const Graph& graph);
/// A self-loop of weight `weight` for every node that has none. Another weight than 1 makes an unweighted
/// graph a weighted one.
Transformed add_self_loops(const Graph& graph, float weight = 1.0f);
Transformed remove_self_loops(const Graph& graph);
/// Equal edges merged into one, weights added (parallel edges of an unweighted graph merge into one
/// unweighted edge).
Transformed coalesce(const Graph& graph);
/// The nodes `nodes` (int32 [K], distinct), renumbered 0 … K - 1 in that order, and the edges among them.
Transformed induced_subgraph(const Graph& graph, const Tensor& nodes);
/// The same graph, its nodes in another order (graph/order/orders.h): new node i is old node order[i],
/// `order` int32 [N] a permutation. Throws otherwise. Equal edges keep their order, so that the inverse gives
/// a graph whose edges are numbered as its CSR has them back to the bit.
Transformed permuted(const Graph& graph, const Tensor& order);
/// All nodes, and the edges `edges` (int32 [K], distinct edge numbers).
Transformed edge_subgraph(const Graph& graph, const Tensor& edges);
/// Each edge left out with probability p in [0, 1), drawn by its number from one stream of `generator`
/// (DropEdge, Rong et al. 2020; PyG's dropout_edge). `force_undirected`: of a graph whose edges stand in both
/// directions, the edges from a smaller node to a larger one are drawn, and each stays in both directions or
/// in none; edges that lead down are not looked at, for those that stay are the others turned round, with
/// their weights and attributes, and `merged_into` is an edge that stays between the same nodes. With
/// `training` false all edges stay as they are. The host waits for the device to learn how many are left.
Transformed dropout_edge(const Graph& graph, float p = 0.5f, bool force_undirected = false,
                         bool training = true, Generator& generator = default_generator());
/// Every edge turned round, under its number, with its weight and attributes. Free: both graphs share all
/// forms.
Graph reverse(const Graph& graph);

}  // namespace adj
