#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/self_loops.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/nn/conv/attention_edges.h>

namespace adj::nn {

namespace {

/// [loops, E]: features of the added loops.
Var features_of_loops(const Relation& relation, int64_t loops, const Var& attr, const LoopFill& fill) {
  if (fill.kind == LoopFill::Kind::constant)
    return Tensor::full({loops, attr.size(1)}, fill.value, attr.dtype(), attr.device());
  const LoopedRelation bare = adj::with_self_loops(relation, SelfLoops::removed);
  Var total = edge_sum(bare.relation, adj::with_self_loops(bare, attr));
  if (fill.kind == LoopFill::Kind::mean) {
    // 1 / degree, or 0 for degree 0.
    const Var root = inverse_sqrt(Var(bare.relation.in_degrees().reshape({relation.num_dst(), 1})));
    total = total * cast(root * root, total.dtype());
  }
  return cast(narrow(total, 0, 0, loops), attr.dtype());
}

}  // namespace

AttentionEdges attention_edges(const char* layer, const Relation& relation, const Var& edge_attr,
                               std::optional<int64_t> edge_dim, bool self_loops, const LoopFill& fill) {
  ADJ_CHECK(static_cast<bool>(edge_attr) == edge_dim.has_value(), "{}: {}", layer,
            edge_attr ? "edge_attr is given, but the layer has no edge_dim"
                      : "edge_attr is absent, but the layer has edge_dim");
  Var attr = edge_attr;
  if (attr) {
    if (attr.shape().dims() == 1) attr = reshape(attr, {attr.size(0), 1});
    ADJ_CHECK(attr.shape() == Shape({relation.num_edges(), *edge_dim}) && attr.device() == relation.device(),
              "{}: edge_attr is {}, expected [{}, {}] on {}", layer, edge_attr.value().str(),
              relation.num_edges(), *edge_dim, relation.device().str());
  }
  if (!self_loops) return {relation, attr};
  const LoopedRelation looped = adj::with_self_loops(relation, SelfLoops::renewed);
  if (!attr) return {looped.relation, {}};
  return {looped.relation,
          adj::with_self_loops(looped, attr, features_of_loops(relation, looped.loops, attr, fill))};
}

}  // namespace adj::nn
