#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/edge_mask.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/core/capture.h>
#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/module.h>

namespace adj::nn {

namespace {

bool fits(const Shape& features, int64_t nodes) { return features.dims() == 2 && features[0] == nodes; }

}  // namespace

const Tensor& Structure::edge_weight() const {
  static const Tensor none;
  return graph_ != nullptr ? graph_->edge_weight() : block_ != nullptr ? block_->edge_weight() : none;
}

const EdgeAttributes& Structure::edge_attributes() const {
  static const EdgeAttributes none;
  return graph_ != nullptr ? graph_->edge_attributes() : block_ != nullptr ? block_->edge_attributes() : none;
}

void Structure::check_one_set(const char* layer) const {
  ADJ_CHECK(relation_->num_src() == relation_->num_dst(),
            "{}: several hops, expected one set of nodes, got {} sources and {} targets", layer,
            relation_->num_src(), relation_->num_dst());
}

Sides::Sides(const Features& x) : one_(true) {
  if (x.is_sparse() || x.is_quantized()) {
    features_ = std::make_shared<const Features>(x);
  } else {
    src = variable_of(x);
  }
}

void Sides::check_sources(const char* layer, const Structure& structure, const Shape& features) const {
  const int64_t sources = structure.relation().num_src();
  const bool of_graph = one_ && structure.graph() != nullptr;
  ADJ_CHECK(fits(features, sources), "{}: features {} for a {} of {} {}", layer, features.str(),
            of_graph ? "graph" : "relation", sources, of_graph ? "nodes" : "sources");
}

const Features* Sides::compact(const char* layer, const Structure& structure) const {
  if (!features_ || structure.graph() == nullptr) return nullptr;
  check_sources(layer, structure, {features_->rows(), features_->cols()});
  return features_.get();
}

Sides Sides::dense(const Module& layer) const {
  if (!features_) return *this;
  const std::vector<Var> parameters = layer.parameters();
  return features_->to_dense().to(parameters.empty() ? DType::f32 : parameters.front().dtype());
}

Sides Sides::of_sources(const char* layer, const Structure& structure) const {
  if (features_) return Sides(features_->to_dense()).of_sources(layer, structure);
  ADJ_CHECK(src, "{}: features are absent", layer);
  check_sources(layer, structure, src.shape());
  return *this;
}

Sides Sides::match(const char* layer, const Structure& structure, bool needs_dst) const {
  const int64_t sources = structure.relation().num_src(), targets = structure.relation().num_dst();
  const Var x = of_sources(layer, structure).src;
  if (one_) {
    ADJ_CHECK(targets <= sources, "{}: one x for a relation of {} sources and {} targets, expected {}", layer,
              sources, targets, "{x_src, x_dst}");
    Sides sides(x, targets == sources ? x : narrow(x, 0, 0, targets));
    sides.cache_ = cache_;
    sides.targets_first_ = true;
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

Var propagate(const SparseMatrix& a, Var x, int hops) {
  for (int hop = 0; hop < hops; ++hop) x = aggregate(a, x);
  return x;
}

Sides PropagationCache::constant(Sides x) {
  x.cache_ = this;
  return x;
}

Var PropagationCache::get(const SparseMatrix& a, const Var& x, int hops) {
  return x.requires_grad() || !NoEdgeMask::in_force() ? propagate(a, x, hops)
                                                      : Var(cached(a, x.value(), hops));
}

Tensor PropagationCache::cached(const SparseMatrix& a, const Tensor& x, int hops) {
  const Key key{a.relation(), Contents(a.values()), Contents(x), hops};
  const bool recording = capturing(a.device());
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    again = key == last_;
    if (again && kept_) {
      if (recording) recorded_.push_back(kept_);
      return kept_;
    }
    // Results of a step under capture are not computed yet: they are not cached, and nothing is evicted for
    // them, so an aborted capture leaves no trace.
    if (!recording && !again) {
      kept_ = {};
      last_ = key;
    }
  }
  if (recording || !again) return propagate(a, x, hops).value();
  const OutsideCapture complete_for_all_streams;
  const Tensor y = propagate(a, x, hops).value();
  const std::lock_guard lock(mutex_);
  if (key == last_) kept_ = y;
  return y;
}

}  // namespace adj::nn
