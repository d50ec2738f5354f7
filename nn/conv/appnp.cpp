#include <adjoint/autograd/arithmetic.h>
#include <adjoint/nn/conv/appnp.h>

namespace adj::nn {

APPNP::APPNP(int K, double alpha, const APPNPOptions& options)
    : hops_(K), alpha_(alpha), dropout_(options.dropout), norm_{options.normalize, options.add_self_loops} {
  ADJ_CHECK(K >= 1, "APPNP: expected one step or more, got {}", K);
  ADJ_CHECK(alpha >= 0.0 && alpha <= 1.0, "APPNP: expected alpha in [0, 1], got {}", alpha);
  (void)dropout_rule(dropout_);
}

Var APPNP::operator()(const Structure& structure, const Sides& features, const Var& edge_weight) const {
  structure.check_one_set("APPNP");
  const Var x = features.of_sources("APPNP", structure).src;
  GcnNorm a("APPNP", structure, norm_, edge_weight);
  Var z = x;
  for (int hop = 0; hop < hops_; ++hop) {
    if (training() && dropout_ > 0.0f) a.drop_entries(dropout_);
    z = linear_combination(1.0 - alpha_, a(z), alpha_, x);
  }
  return z;
}

std::string APPNP::describe() const { return fmt::format("APPNP(K={}, alpha={})", hops_, alpha_); }

}  // namespace adj::nn
