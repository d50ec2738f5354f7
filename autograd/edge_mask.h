#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/features.h>
#include <adjoint/graph/relation.h>

#include <utility>
#include <vector>

namespace adj {

/// While it is alive, every op of this thread that sums or reduces messages over edges multiplies each
/// message by its edge's mask (GNNExplainer, Ying et al. 2019, section 4.2; PyG's explain_message), so that
/// gradients reach the mask:
///
///   EdgeMask masked(graph.relation());
///   masked.set(sigmoid(logits));
///   cross_entropy(model(graph, x), y).backward();
///
/// These are aggregate, aggregate_all, gine_sum and the attention ops, whose coefficients stay those of the
/// unmasked graph, as does the normalisation of matrices such as Graph::gcn_adjacency(). A layer that adds
/// self-loops has relations of its own, whose edges are matched by their ends; all loops then count as added
/// and are not masked, as in PyG. Takes memory M x F, so it is for small graphs. An inner object takes the
/// place of an outer one. Not within captured steps, nor for layers over several relations.
class EdgeMask {
 public:
  /// Without effect until set(). `edges` has one set of nodes.
  explicit EdgeMask(Relation edges);
  ~EdgeMask();
  EdgeMask(const EdgeMask&) = delete;
  EdgeMask& operator=(const EdgeMask&) = delete;

  /// float [M], by edge number; absent: no mask. Throws Error for another shape.
  void set(const Var& mask);
  /// int32 [M'] for a relation whose edges are those of the mask, apart from loops: the edge of the mask that
  /// each is, or M for an added loop. Absent: identity. Throws Error, naming `op`, for other edges.
  Tensor places_in(const char* op, const Relation& relation);
  const Var& mask() const { return mask_; }  ///< of set(), or absent

 private:
  Relation edges_;
  Var mask_;
  std::vector<std::pair<Relation, Tensor>> places_;  // of relations seen so far
  EdgeMask* outer_;
};

/// In this scope no EdgeMask of the thread has an effect: for ops whose relation is not that of the edges,
/// such as attention between all nodes.
class NoEdgeMask {
 public:
  NoEdgeMask();
  ~NoEdgeMask();
  NoEdgeMask(const NoEdgeMask&) = delete;
  NoEdgeMask& operator=(const NoEdgeMask&) = delete;
  static bool in_force();  ///< true while no EdgeMask has an effect on this thread

 private:
  EdgeMask* outer_;
};

/// While it is alive, dense features whose tensor is the value of `x` enter this thread's layers as the
/// variable x, so that gradients reach it. An inner object takes the place of an outer one.
class FeatureVariable {
 public:
  explicit FeatureVariable(Var x);
  ~FeatureVariable();
  FeatureVariable(const FeatureVariable&) = delete;
  FeatureVariable& operator=(const FeatureVariable&) = delete;
  bool used() const { return used_; }  ///< whether a layer took it

 private:
  friend Var variable_of(const Features& x, DType dtype);
  Var x_;
  bool used_ = false;
  FeatureVariable* outer_;
};

/// The features as a dense variable: that of a FeatureVariable, else a constant. Of dense features the dtype
/// stays that of their tensor.
Var variable_of(const Features& x);
Var variable_of(const Features& x, DType dtype);  ///< the same of this dtype

}  // namespace adj
