#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/nn/conv/gcn2_conv.h>
#include <adjoint/nn/init.h>

#include <cmath>

namespace adj::nn {

GCN2Conv::GCN2Conv(int64_t channels, double alpha, const GCN2ConvOptions& options)
    : alpha_(alpha), norm_{options.normalize, options.add_self_loops} {
  ADJ_CHECK(channels > 0, "GCN2Conv: expected a positive width, got {}", channels);
  ADJ_CHECK(alpha >= 0.0 && alpha <= 1.0, "GCN2Conv: expected alpha in [0, 1], got {}", alpha);
  ADJ_CHECK(options.theta.has_value() == options.layer.has_value(),
            "GCN2Conv: theta and layer are given together or not at all");
  if (options.theta) {
    ADJ_CHECK(*options.layer >= 1 && *options.theta > 0.0,
              "GCN2Conv: expected a positive theta and layers from 1, got {} and {}", *options.theta,
              *options.layer);
    beta_ = std::log(*options.theta / *options.layer + 1.0);
  }
  add_parameter("weight1", weight1, glorot_uniform(channels, channels));
  if (!options.shared_weights) add_parameter("weight2", weight2, glorot_uniform(channels, channels));
}

// x ((1 - β) I + β W).
Var GCN2Conv::near_identity(const Var& x, const Var& weight) const {
  const Var mapped = linear(x, weight);
  return beta_ == 1.0 ? mapped : linear_combination(1.0 - beta_, x, beta_, mapped);
}

Var GCN2Conv::operator()(const Structure& structure, const Sides& features, const Sides& first,
                         const Var& edge_weight) const {
  const Var x = features.dense(*this).of_sources("GCN2Conv", structure).src;
  const Sides x_0 = first.dense(*this).match("GCN2Conv", structure);
  ADJ_CHECK(x.shape() == x_0.src.shape(), "GCN2Conv: x is {}, x_0 is {}, expected one shape", x.shape().str(),
            x_0.src.shape().str());
  const Var aggregated = GcnNorm("GCN2Conv", structure, norm_, edge_weight)(x);
  if (!weight2) return near_identity(linear_combination(1.0 - alpha_, aggregated, alpha_, x_0.dst), weight1);
  return linear_combination(1.0 - alpha_, near_identity(aggregated, weight1), alpha_,
                            near_identity(x_0.dst, weight2));
}

std::string GCN2Conv::describe() const {
  return fmt::format("GCN2Conv({}, alpha={}, beta={})", weight1.size(0), alpha_, beta_);
}

}  // namespace adj::nn
