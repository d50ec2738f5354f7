#include <adjoint/autograd/shape.h>
#include <adjoint/nn/conv/propagation_cache.h>
#include <adjoint/nn/conv/structure.h>

namespace adj::nn {

namespace {

bool fits(const Shape& features, int64_t nodes) { return features.dims() == 2 && features[0] == nodes; }

}  // namespace

void check_rows(const char* layer, const Graph& graph, const Shape& features) {
  ADJ_CHECK(fits(features, graph.num_nodes()), "{}: features {} for a graph of {} nodes", layer,
            features.str(), graph.num_nodes());
}

Var Sides::of_sources(const char* layer, const Structure& structure) const {
  ADJ_CHECK(src, "{}: features are absent", layer);
  if (one_ && structure.graph() != nullptr) {
    check_rows(layer, *structure.graph(), src.shape());
  } else {
    ADJ_CHECK(fits(src.shape(), structure.relation().num_src()),
              "{}: features {} for a relation of {} sources", layer, src.shape().str(),
              structure.relation().num_src());
  }
  return src;
}

Sides Sides::on(const char* layer, const Structure& structure, bool needs_dst) const {
  const int64_t sources = structure.relation().num_src(), targets = structure.relation().num_dst();
  (void)of_sources(layer, structure);
  if (one_) {
    ADJ_CHECK(targets <= sources, "{}: one x for a relation of {} sources and {} targets, expected {}", layer,
              sources, targets, "{x_src, x_dst}");
    Sides sides(src, targets == sources ? src : narrow(src, 0, 0, targets));
    sides.cache_ = cache_;
    return sides;
  }
  ADJ_CHECK(dst || !needs_dst, "{}: features of targets are absent, expected {} rows", layer, targets);
  ADJ_CHECK(!dst || fits(dst.shape(), targets), "{}: features {} for a relation of {} targets", layer,
            dst.shape().str(), targets);
  return *this;
}

Var Sides::propagated(const SparseMatrix& a, int hops) const {
  return cache_ != nullptr ? cache_->get(a, src, hops) : propagate(a, src, hops);
}

}  // namespace adj::nn
