#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/block.h>
#include <adjoint/graph/features.h>
#include <adjoint/graph/graph.h>

namespace adj::nn {

/// What a layer runs on: a graph, a relation or a sampled block, which it refers to.
class Structure {
 public:
  Structure(const Graph& graph) : relation_(&graph.relation()), graph_(&graph) {}
  Structure(const Relation& relation) : relation_(&relation) {}
  Structure(const Block& block) : relation_(&block.relation()) {}
  const Relation& relation() const { return *relation_; }
  /// Null for a relation and a block: these have no weights of their own.
  const Graph* graph() const { return graph_; }

 private:
  const Relation* relation_;
  const Graph* graph_ = nullptr;
};

/// Features that a layer takes: one x, or {x_src, x_dst} where sources and targets have their own. One x has
/// a row for each node of a graph, or for each source of a relation or block, whose targets are then the
/// first of its sources. x_dst may be absent where a layer says so.
struct Sides {
  Var src, dst;

  Sides(const Var& x) : src(x), one_(true) {}
  Sides(const Tensor& x) : Sides(Var(x)) {}
  Sides(Var x_src, Var x_dst) : src(std::move(x_src)), dst(std::move(x_dst)) {}

  /// Sources' and targets' rows on that structure: of one x the targets' are taken, x itself where they are
  /// all. Throws, naming the layer, where rows do not fit, or targets have none and `needs_dst`.
  Sides on(const char* layer, const Structure& structure, bool needs_dst = false) const;
  /// Sources' rows alone, for layers to which a target is one of the sources.
  Var of_sources(const char* layer, const Structure& structure) const;
  /// Are sources and targets the same features?
  bool same() const { return src.id() == dst.id(); }

 private:
  bool one_ = false;
};

/// Throws unless features of this shape have a row for each node of the graph.
void check_rows(const char* layer, const Graph& graph, const Shape& features);
inline void check_rows(const char* layer, const Graph& graph, const Features& x) {
  check_rows(layer, graph, Shape{x.rows(), x.cols()});
}

/// 1 / (edges into the target), wide [M] by edge number: what makes a sum over neighbours their mean. Kept
/// with the relation.
Tensor mean_weights(const Relation& relation, DType features);

}  // namespace adj::nn
