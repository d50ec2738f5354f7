#pragma once

#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/relation.h>

namespace adj {

/// One hop of a sampled neighbourhood (a bipartite message-flow graph): a relation from source nodes to
/// target nodes with local numbers, and their global ids. The targets are the first sources, so a layer finds
/// target i's own features in row i of its input. Immutable and a cheap handle.
class Block {
 public:
  Block() = default;
  /// `src_nodes` int32 or int64 [num_src]: global ids of the sources, targets first. `edge_ids` int32 or
  /// int64 [M], optional: global edge numbers, by the relation's edge numbers. Throws for mismatched lengths
  /// or devices, or more targets than sources.
  Block(Relation relation, Tensor src_nodes, Tensor edge_ids = {});
  /// Same, with the targets' global ids, which are checked against the first sources (one synchronization).
  Block(Relation relation, const Tensor& dst_nodes, Tensor src_nodes, Tensor edge_ids);

  explicit operator bool() const { return static_cast<bool>(relation_); }  ///< false if default-constructed
  const Relation& relation() const { return relation_; }
  /// A block converts to its relation in edge operations.
  operator const Relation&() const { return relation_; }
  int64_t num_src() const { return relation_.num_src(); }      ///< number of sources, targets included
  int64_t num_dst() const { return relation_.num_dst(); }      ///< number of targets
  int64_t num_edges() const { return relation_.num_edges(); }  ///< number of edges, M
  Device device() const { return relation_.device(); }         ///< of all its tensors
  /// Global ids.
  const Tensor& src_nodes() const { return src_nodes_; }
  Tensor dst_nodes() const { return src_nodes_.rows(0, num_dst()); }  ///< [num_dst], a view
  /// Absent if none were given.
  const Tensor& edge_ids() const { return edge_ids_; }

  /// The same block with the weights (float32 [M]; absent: none) and attributes ([M] or [M,E]) of its edges,
  /// by the relation's edge numbers. A sampled block has those of its graph. Throws for other sizes.
  Block with_edge_data(Tensor weight, EdgeAttributes attributes) const;
  const Tensor& edge_weight() const { return edge_weight_; }                  ///< absent: unweighted
  const EdgeAttributes& edge_attributes() const { return edge_attributes_; }  ///< may be empty

  /// Includes everything its relation has derived (Relation::to).
  Block to(Device device) const;

 private:
  friend struct detail::CarrierAccess;
  Block carried_to(detail::Carrier& carrier) const;

  Relation relation_;
  Tensor src_nodes_, edge_ids_, edge_weight_;
  EdgeAttributes edge_attributes_;
};

}  // namespace adj
