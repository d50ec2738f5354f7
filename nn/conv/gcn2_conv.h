#pragma once

#include <adjoint/nn/conv/gcn_norm.h>

#include <optional>

namespace adj::nn {

/// Options of GCN2Conv.
struct GCN2ConvOptions {
  std::optional<double> theta = {};  ///< λ of the paper; set together with `layer`
  std::optional<int> layer = {};     ///< ℓ, from 1
  bool shared_weights = true;        ///< one W for both terms; else GCNII*
  bool add_self_loops = true;        ///< of weight 1, on nodes without one
  bool normalize = true;             ///< else Â is A
};

/// ((1 - α) Â X + α X_0) ((1 - β) I + β W) with β = log(θ / ℓ + 1), or 1 without these two (Chen et al.,
/// Simple and Deep Graph Convolutional Networks, 2020, eq. 5). x and x_0, the first layer's input,
/// [N,channels] -> [N,channels], both with rows for all nodes (on a block: for its sources). W is
/// Glorot-uniform, [in, out] as in PyG's GCN2Conv. `edge_weight` [M] by edge number replaces the graph's
/// weights and may require a gradient.
class GCN2Conv : public Module {
 public:
  GCN2Conv(int64_t channels, double alpha, const GCN2ConvOptions& options = {});
  /// Throws unless x and x_0 have one shape.
  Var operator()(const Structure& structure, const Sides& x, const Sides& x_0,
                 const Var& edge_weight = {}) const;
  std::string describe() const override;

  Var weight1;  ///< [channels, channels]
  Var weight2;  ///< likewise, for x_0's term; absent if the weights are shared

 private:
  Var near_identity(const Var& x, const Var& weight) const;

  double alpha_, beta_ = 1.0;
  GcnNormOptions norm_;
};

}  // namespace adj::nn
