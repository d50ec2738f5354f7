#pragma once

#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/variable.h>
#include <adjoint/graph/relation.h>

#include <cstdint>
#include <optional>

namespace adj::nn {

/// Features of the self-loops that GAT layers add: PyG's fill_value.
struct LoopFill {
  /// How they are computed.
  enum class Kind : uint8_t { mean, sum, constant };
  Kind kind = Kind::mean;  ///< over the features of the node's in-edges without its own loops
  double value = 0.0;      ///< for constant

  LoopFill(Kind fill_kind = Kind::mean) : kind(fill_kind) {}
  LoopFill(double constant) : kind(Kind::constant), value(constant) {}
};

/// The edges that a layer attends to, and their features.
struct AttentionEdges {
  Relation relation;  ///< with the added loops, if any
  Var attr;           ///< [M', E], or absent
};

/// `edge_attr` [M] or [M,edge_dim] by edge number, exactly if `edge_dim` is given; throws otherwise.
/// `self_loops` replaces a node's loops by a single one (of a relation: for nodes on both sides), cached with
/// the relation.
AttentionEdges attention_edges(const char* layer, const Relation& relation, const Var& edge_attr,
                               std::optional<int64_t> edge_dim, bool self_loops, const LoopFill& fill);

/// x [N, H D] as [N,H,D].
inline Var split_heads(const Var& x, int64_t heads) {
  return reshape(x, {x.size(0), heads, x.size(1) / heads});
}
/// From [N,H,D] back to concatenated heads, or their mean [N,D].
inline Var join_heads(const Var& y, bool concat) {
  return concat || y.size(1) == 1 ? reshape(y, {y.size(0), y.size(1) * y.size(2)}) : mean(y, 1);
}

}  // namespace adj::nn
