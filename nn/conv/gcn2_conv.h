#pragma once

#include <adjoint/nn/conv/gcn_norm.h>

#include <optional>

namespace adj::nn {

struct GCN2ConvOptions {
  std::optional<double> theta = {};  ///< λ of the paper; with `layer` or not at all
  std::optional<int> layer = {};     ///< ℓ, from 1
  bool shared_weights = true;        ///< one W for both terms; else GCNII*
  bool add_self_loops = true;        ///< of weight 1 to nodes without one
  bool normalize = true;             ///< else Â is A as it is
};

/// ((1 - α) Â X + α X_0) ((1 - β) I + β W) with β = log(θ / ℓ + 1), or 1 without these two (Chen et al.,
/// Simple and Deep Graph Convolutional Networks, 2020, eq. 5). x and x_0, what the first layer was given,
/// [N,channels] -> [N,channels], of both the rows of all nodes (on a block of its sources). W is
/// Glorot-uniform, [in, out] as in PyG's GCN2Conv. `edge_weight` [M] by edge number stands in the place of
/// the graph's own weights, and may require a gradient.
class GCN2Conv : public Module {
 public:
  GCN2Conv(int64_t channels, double alpha, const GCN2ConvOptions& options = {});
  Var operator()(const Structure& on, const Sides& x, const Sides& x_0, const Var& edge_weight = {}) const;
  std::string describe() const override;

  Var weight1;  ///< [channels, channels]
  Var weight2;  ///< likewise, of x_0's term; absent where the weights are shared

 private:
  Var near_identity(const Var& x, const Var& weight) const;

  double alpha_, beta_ = 1.0;
  GcnNormOptions norm_;
};

}  // namespace adj::nn
