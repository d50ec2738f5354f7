#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/segment.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/graph/ranks/rank_scope.h>
#include <adjoint/nn/init.h>
#include <adjoint/nn/norm/graph_norm.h>

namespace adj::nn {

GraphNorm::GraphNorm(int64_t features, const GraphNormOptions& options) : eps_(options.eps) {
  ADJ_CHECK(features > 0, "GraphNorm: expected a positive width, got {}", features);
  ADJ_CHECK(eps_ > 0.0, "GraphNorm: expected a positive eps, got {}", eps_);
  add_parameter("weight", weight, constant({features}, 1.0));
  add_parameter("bias", bias, constant({features}, 0.0));
  add_parameter("mean_scale", mean_scale, constant({features}, 1.0));
}

Var GraphNorm::operator()(const Var& x, const Tensor& offsets) const {
  RankScope::refuse("GraphNorm");
  ADJ_CHECK(x.shape().dims() == 2 && x.size(1) == weight.size(0), "GraphNorm: x is {}, expected [N, {}]",
            x.shape().str(), weight.size(0));
  if (x.size(0) == 0) return x;
  // Statistics are computed once per graph, then broadcast to its rows.
  const auto mean_of = [&](const Var& v) { return offsets ? segment_mean(v, offsets) : mean(v, 0, true); };
  const auto beside_rows = [&](const Var& v) { return offsets ? segment_expand(v, offsets, x.size(0)) : v; };
  const Var centred = x - beside_rows(mean_of(x) * mean_scale);
  const Var variance = mean_of(centred * centred);
  return centred * beside_rows(inverse_sqrt(variance + eps_) * weight) + bias;
}

PairNorm::PairNorm(const PairNormOptions& options) : options_(options) {
  ADJ_CHECK(options.eps > 0.0, "PairNorm: expected a positive eps, got {}", options.eps);
}

Var PairNorm::operator()(const Var& x, const Tensor& offsets) const {
  RankScope::refuse("PairNorm");
  ADJ_CHECK(x.shape().dims() == 2, "PairNorm: x is {}, expected [N, F]", x.shape().str());
  const int64_t rows = x.size(0);
  const auto mean_of = [&](const Var& v) {
    return offsets ? segment_expand(segment_mean(v, offsets), offsets, rows) : mean(v, 0, true);
  };
  if (rows == 0) return x;
  const Var centred = x - mean_of(x);
  const Var square = sum(centred * centred, 1, true);
  if (!options_.scale_individually)
    return centred * (inverse_sqrt(mean_of(square) + options_.eps) * options_.scale);
  const Var length = square * inverse_sqrt(square);  // avoids the root's infinite slope at 0
  return centred * (options_.scale / (length + options_.eps));
}

}  // namespace adj::nn
