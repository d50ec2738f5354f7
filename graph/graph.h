#pragma once

#include <adjoint/graph/sparse_matrix.h>

#include <memory>
#include <optional>

namespace adj {

/// A directed graph, stored by its in-edges: row i of the CSR holds the sources j of the edges j -> i,
/// ascending, so that an aggregation over neighbours is a sparse product. Immutable and a cheap handle;
/// everything derived from it (transposed CSR, degrees, normalised adjacencies) is made on first demand and
/// kept.
///
/// Rules for edges. They may come in any order: the graph depends on the multiset of edges only, except that
/// equal edges keep their given order. Duplicates are kept as parallel edges (each counts) until
/// `coalesce()`; self-loops are kept as they are. An undirected edge is two directed ones. Fewer than 2^31
/// nodes and 2^31 edges.
class Graph {
 public:
  Graph() = default;
  /// `src`, `dst`: int32 or int64 [M] in [0, num_nodes), on one device; `weight` float32 [M] optional. Throws
  /// if the lengths differ, an index is out of range (naming its position), or the graph is too large.
  static Graph from_coo(int64_t num_nodes, const Tensor& src, const Tensor& dst, const Tensor& weight = {});

  explicit operator bool() const { return impl_ != nullptr; }
  int64_t num_nodes() const;
  int64_t num_edges() const;
  Device device() const;

  /// Rows are targets, columns sources.
  const Csr& in_edges() const;
  /// Rows are sources, columns targets.
  const Csr& out_edges() const;
  const std::shared_ptr<const SparsePattern>& pattern() const;
  /// float32 [M] in CSR order; absent where the graph has no weights.
  const Tensor& edge_weight() const;
  /// int32 [M]: entry e of in_edges() is edge input_order()[e] of the list that the graph was made from.
  const Tensor& input_order() const;
  /// float32 [N]: number of in- or out-edges (weights are not counted).
  const Tensor& in_degrees() const;
  const Tensor& out_degrees() const;
  /// True if every edge, with its weight, stands in both directions. Found once.
  bool is_symmetric() const;
  bool has_self_loops() const;

  /// A: the edges with their weights.
  const SparseMatrix& adjacency() const;
  /// D^-1/2 (A + I) D^-1/2, D the row sums of A + I (GCN eq. 2, Kipf & Welling 2017). A self-loop is added
  /// only to nodes without one.
  const SparseMatrix& gcn_adjacency() const;
  /// D^-1 A: the mean over in-edges. Nodes without in-edges give 0.
  const SparseMatrix& mean_adjacency() const;

  Graph to(Device device) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Both directions of every edge; equal edges are merged, their weights averaged (an edge given in both
/// directions keeps its weight). On any device.
Graph to_undirected(const Graph& graph);
/// A self-loop of weight `weight` for every node that has none.
Graph add_self_loops(const Graph& graph, float weight = 1.0f);
Graph remove_self_loops(const Graph& graph);
/// Equal edges merged into one, weights added (parallel edges of an unweighted graph merge into one
/// unweighted edge).
Graph coalesce(const Graph& graph);
/// The nodes `nodes` (int32 [K], distinct), renumbered 0 … K - 1 in that order, and the edges among them.
Graph induced_subgraph(const Graph& graph, const Tensor& nodes);

}  // namespace adj
