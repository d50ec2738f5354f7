#pragma once

#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/sparse_matrix.h>

#include <memory>
#include <string>
#include <string_view>

namespace adj {

/// Matrix of a model's sums over neighbours.
enum class PropagationMatrix : uint8_t {
  none,  ///< none: the layers have their own weights (attention) or take maxima
  sum,   ///< A: Graph::adjacency()
  mean,  ///< D^-1 A: Graph::mean_adjacency()
  gcn    ///< D^-1/2 (A + I) D^-1/2: Graph::gcn_adjacency()
};

/// A directed graph: a relation of one set of nodes to itself, with edge weights and attributes. Row i of its
/// CSR holds the sources j of the edges j -> i, ascending, so aggregation over neighbours is a sparse
/// product. Immutable and a cheap handle; derived data (transposed CSR, degrees, normalised adjacencies) is
/// made on first use and cached.
///
/// Duplicates are kept as parallel edges (every copy counts) until `coalesce()`; self-loops are kept. An
/// undirected edge is two directed ones. At most 2^31 - 2^16 nodes and edges.
///
/// Every edge tensor ([M], [M,E], [M,H]) is indexed by edge number. `from_coo` numbers edges by target, then
/// source, duplicates in input order, so that kernels read edge tensors in place: `edge_index()` returns the
/// edges in this order, and `input_order()` maps back to the given list. A graph made from a relation keeps
/// the relation's numbers.
class Graph {
 public:
  Graph() = default;
  /// `src`, `dst`: int32 or int64 [M] in [0, num_nodes), on one device, in any order. `weight` float32 [M],
  /// optional, and `attributes` are in the given order, and renumbered with the edges. Throws if lengths
  /// differ, an index is out of range (naming its position), or the graph is too large.
  static Graph from_coo(int64_t num_nodes, const Tensor& src, const Tensor& dst, const Tensor& weight = {},
                        const EdgeAttributes& attributes = {});
  /// Uses the relation unchanged; its two sides must have equal size. `weight` float32 [M], optional, and
  /// `attributes` are by its edge numbers.
  explicit Graph(Relation relation, Tensor weight = {}, EdgeAttributes attributes = {});

  /// The edges of one rank's nodes out of a graph of N nodes that no rank has: `in`, those that end at them,
  /// and `out`, those that begin at them, each reversed; both over all N nodes, on the host. `offsets` int64
  /// [N + 1]: whole_offsets(). It is for rank_rows(), as the whole graph would be, and has the numbers,
  /// weights and attributes of `in`; its own matrices are refused. All ranks call it together. Throws Error
  /// if sizes do not match.
  static Graph from_rank_edges(const RankRows& rank, const Tensor& offsets, const Graph& in,
                               const Graph& out);

  explicit operator bool() const { return impl_ != nullptr; }  ///< false if default-constructed
  int64_t num_nodes() const;                                   ///< 0 if default-constructed, as num_edges()
  int64_t num_edges() const;                                   ///< parallel edges and self-loops count
  Device device() const;                                       ///< the CPU if default-constructed
  /// Nodes and edges of the graph of which this one has a rank's edges or rows; else its own.
  CsrSizes whole_sizes() const;
  /// int64 [N + 1], of the in-edges of all nodes of that graph.
  const Tensor& whole_offsets() const;
  const RankRows* rank() const;  ///< that has these edges or rows; null for a whole graph

  const Relation& relation() const;
  /// A graph converts to its relation in edge operations.
  operator const Relation&() const { return relation(); }
  /// Edge e goes from src[e] to dst[e], both int32 [M].
  EdgeIndex edge_index() const { return relation().edge_index(); }
  /// Rows are targets, columns sources.
  const Csr& in_edges() const { return relation().csr(); }
  /// Rows are sources, columns targets.
  const Csr& out_edges() const { return relation().transposed(); }
  /// float32 [M] by edge number; absent for an unweighted graph.
  const Tensor& edge_weight() const;
  /// [M] or [M,E] by edge number. Throws for an unknown name, listing the existing ones.
  const Tensor& edge_attr(std::string_view name) const;
  const EdgeAttributes& edge_attributes() const;  ///< all of them, by name; may be empty
  /// The same graph, sharing everything derived, with one attribute added, replaced or (absent) removed.
  Graph with_edge_attr(std::string name, Tensor attribute) const;
  /// The same edges and attributes with other weights (float32 [M]; absent: unweighted, also for
  /// from_rank_edges()).
  Graph with_edge_weight(Tensor weight) const;
  /// The same edges with weights taken as already normalised: every matrix below is A with these weights, as
  /// for parts of a graph whose weights come from the full graph's degrees (GraphSAINT's subgraphs). All
  /// layers that sum by these matrices use them, including SAGEConv (sums and means) and GINConv, which
  /// otherwise ignore weights. Throws for an unweighted graph.
  Graph as_normalized() const;
  bool is_normalized() const;  ///< true for a result of as_normalized()
  /// int32 [M]: edge e of this graph is edge input_order()[e] of the list given to from_coo. Absent for other
  /// constructors.
  const Tensor& input_order() const;

  /// float32 [N]: number of in- or out-edges (unweighted).
  const Tensor& in_degrees() const { return relation().in_degrees(); }
  const Tensor& out_degrees() const { return relation().out_degrees(); }  ///< out-edges of each node
  /// True if every edge exists in both directions with the same weight. Computed once.
  bool is_symmetric() const;
  bool has_self_loops() const;  ///< true if any node has one; waits for a GPU at each call

  /// A: the weighted adjacency. Entries of the matrices are in the order of in_edges(), or, if the relation
  /// scatters(), in list order, and nothing is sorted.
  const SparseMatrix& adjacency() const;
  /// D^-1/2 (A + I) D^-1/2, D the row sums of A + I (GCN eq. 2, Kipf & Welling 2017). A self-loop is added
  /// only to nodes without one; existing ones keep their weight. If a node has several loops, only the last
  /// in input order counts, as in PyG's add_remaining_self_loops.
  const SparseMatrix& gcn_adjacency() const { return gcn_adjacency(1.0f); }
  /// Same, with another weight for added loops: 2 is PyG's `improved`, 0 adds none (and uses all loops
  /// unchanged). Each is cached.
  const SparseMatrix& gcn_adjacency(float loop_weight) const;
  /// D^-1 A: the mean over in-edges. Nodes without in-edges give 0.
  const SparseMatrix& mean_adjacency() const;
  /// The matrix of this kind; A for none.
  const SparseMatrix& matrix(PropagationMatrix kind) const;

  /// Includes everything derived so far: the relation's forms and the matrices.
  Graph to(Device device) const;
  /// This rank's nodes, with their edges, weights and attributes, on the group's device
  /// (Relation::rank_part). The matrices are the rank's rows of this graph's, made from its edges and all
  /// ranks' degrees, so that a node's sums do not depend on the number of ranks. All ranks call it together
  /// with a graph of the same contents or from_rank_edges(), and use the result together. Throws Error unless
  /// the nodes are those of the cut.
  Graph rank_rows(const RankRows& rank) const;

 private:
  friend struct detail::CarrierAccess;
  Graph carried_to(detail::Carrier& carrier) const;
  Graph rank_edges(const RankRows& rank) const;
  void require_matrices() const;

  struct Impl;
  const Impl& impl() const;
  std::shared_ptr<const Impl> impl_;
  std::shared_ptr<const EdgeAttributes> attributes_;
};

}  // namespace adj
