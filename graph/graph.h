#pragma once

#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/sparse_matrix.h>

#include <memory>
#include <string>
#include <string_view>

namespace adj {

/// A directed graph: a relation of one set of nodes to itself, with weights and attributes of its edges.
/// Row i of its CSR holds the sources j of the edges j -> i, ascending, so that an aggregation over
/// neighbours is a sparse product. Immutable and a cheap handle; everything derived from it (transposed CSR,
/// degrees, normalised adjacencies) is made on first demand and kept.
///
/// Rules for edges. Duplicates are kept as parallel edges (each counts) until `coalesce()`; self-loops are
/// kept as they are. An undirected edge is two directed ones. At most 2^31 - 2^16 nodes and edges.
///
/// Edges have numbers, and every tensor of edges ([M], [M,E], [M,H]) goes by them. `from_coo` numbers them by
/// target, then source, equal edges as given, so that kernels read edge tensors in place: `edge_index()`
/// shows them, and `input_order()` leads back to the list that was given. A graph made from a relation keeps
/// the relation's numbers.
class Graph {
 public:
  Graph() = default;
  /// `src`, `dst`: int32 or int64 [M] in [0, num_nodes), on one device, in any order; `weight` float32 [M],
  /// optional, and `attributes` by the given order, which are numbered anew with the edges. Throws if the
  /// lengths differ, an index is out of range (naming its position), or the graph is too large.
  static Graph from_coo(int64_t num_nodes, const Tensor& src, const Tensor& dst, const Tensor& weight = {},
                        const EdgeAttributes& attributes = {});
  /// The relation as it stands, whose two sides must be as large; `weight` float32 [M], optional, and
  /// `attributes` by its edge numbers.
  explicit Graph(Relation relation, Tensor weight = {}, EdgeAttributes attributes = {});

  explicit operator bool() const { return impl_ != nullptr; }
  int64_t num_nodes() const;
  int64_t num_edges() const;
  Device device() const;

  const Relation& relation() const;
  /// A graph stands for its relation in edge operations.
  operator const Relation&() const { return relation(); }
  /// Edge e goes from src[e] to dst[e], both int32 [M].
  EdgeIndex edge_index() const { return relation().edge_index(); }
  /// Rows are targets, columns sources.
  const Csr& in_edges() const { return relation().csr(); }
  /// Rows are sources, columns targets.
  const Csr& out_edges() const { return relation().transposed(); }
  /// float32 [M] by edge number; absent where the graph has no weights.
  const Tensor& edge_weight() const;
  /// [M] or [M,E] by edge number. Throws where there is none of that name, naming those that there are.
  const Tensor& edge_attr(std::string_view name) const;
  const EdgeAttributes& edge_attributes() const;
  /// The same graph, and everything derived from it, with one attribute more (or another in its place).
  Graph with_edge_attr(std::string name, Tensor attribute) const;
  /// The same edges and attributes with other weights (float32 [M]; absent: none).
  Graph with_edge_weight(Tensor weight) const;
  /// The same edges, whose weights are what messages are multiplied with as they stand: every matrix below is
  /// A, which somebody normalised beforehand, as parts of a graph whose edges are weighed by the whole's
  /// degrees (GraphSAINT's subgraphs). Layers that sum by these matrices obey it, SAGEConv (sums and means)
  /// and GINConv too, which read no weights otherwise. Throws where there are no weights.
  Graph as_normalized() const;
  bool is_normalized() const;
  /// int32 [M]: edge e of this graph is edge input_order()[e] of the list given to from_coo. Absent where the
  /// graph was made otherwise.
  const Tensor& input_order() const;

  /// float32 [N]: number of in- or out-edges (weights are not counted).
  const Tensor& in_degrees() const { return relation().in_degrees(); }
  const Tensor& out_degrees() const { return relation().out_degrees(); }
  /// True if every edge, with its weight, stands in both directions. Found once.
  bool is_symmetric() const;
  bool has_self_loops() const;

  /// A: the edges with their weights. The matrices' entries stand in the order of in_edges(); where the
  /// relation scatters() in that of the list, and nothing is sorted.
  const SparseMatrix& adjacency() const;
  /// D^-1/2 (A + I) D^-1/2, D the row sums of A + I (GCN eq. 2, Kipf & Welling 2017). A self-loop is added
  /// only to nodes without one, which keeps its weight; of several loops of a node the last counts alone, in
  /// the order in which they were given, as in PyG's add_remaining_self_loops.
  const SparseMatrix& gcn_adjacency() const { return gcn_adjacency(1.0f); }
  /// Likewise with added loops of another weight: 2 is PyG's `improved`, 0 adds none (and takes loops as they
  /// are, all of them). Each is kept.
  const SparseMatrix& gcn_adjacency(float loop_weight) const;
  /// D^-1 A: the mean over in-edges. Nodes without in-edges give 0.
  const SparseMatrix& mean_adjacency() const;

  /// With what was derived of it by now: its relation's forms, its matrices.
  Graph to(Device device) const;
  Graph carried_to(detail::Carrier& carrier) const;

 private:
  struct Impl;
  const Impl& impl() const;
  std::shared_ptr<const Impl> impl_;
  std::shared_ptr<const EdgeAttributes> attributes_;
};

}  // namespace adj
