#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/block.h>
#include <adjoint/graph/features.h>
#include <adjoint/graph/graph.h>

namespace adj::nn {

class PropagationCache;

/// Input structure of a layer: a reference to a graph, a relation or a sampled block.
class Structure {
 public:
  Structure(const Graph& graph) : relation_(&graph.relation()), graph_(&graph) {}
  Structure(const Relation& relation) : relation_(&relation) {}
  Structure(const Block& block) : relation_(&block.relation()) {}
  const Relation& relation() const { return *relation_; }
  /// Null for a relation or block, which have no weights.
  const Graph* graph() const { return graph_; }

 private:
  const Relation* relation_;
  const Graph* graph_ = nullptr;
};

/// Input features of a layer: one x, or {x_src, x_dst} for separate sources and targets. One x has a row per
/// node of a graph, or per source of a relation or block, whose targets are then the first of its sources.
/// x_dst may be absent if the layer documents it. An x from PropagationCache::constant is aggregated once.
struct Sides {
  Var src, dst;

  Sides(const Var& x) : src(x), one_(true) {}
  Sides(const Tensor& x) : Sides(Var(x)) {}
  Sides(Var x_src, Var x_dst) : src(std::move(x_src)), dst(std::move(x_dst)) {}

  /// Rows of sources and targets on that structure. From one x the targets' rows are narrowed, or x itself is
  /// used if they are all rows. Throws, naming the layer, if the number of rows does not match, or x_dst is
  /// absent and `needs_dst`.
  Sides on(const char* layer, const Structure& structure, bool needs_dst = false) const;
  /// Rows of the sources only, for layers whose targets are among the sources.
  Var of_sources(const char* layer, const Structure& structure) const;
  /// Whether sources and targets share the same features.
  bool same() const { return src.id() == dst.id(); }
  /// A^hops of the sources' features; from the cache, if there is one.
  Var propagated(const SparseMatrix& a, int hops = 1) const;
  bool has_cache() const { return cache_ != nullptr; }

 private:
  friend class PropagationCache;
  bool one_ = false;
  PropagationCache* cache_ = nullptr;
};

/// Throws unless features of this shape have one row per node.
void check_rows(const char* layer, const Graph& graph, const Shape& features);
inline void check_rows(const char* layer, const Graph& graph, const Features& x) {
  check_rows(layer, graph, Shape{x.rows(), x.cols()});
}

}  // namespace adj::nn
