#pragma once

#include <adjoint/nn/conv/gcn_norm.h>

namespace adj::nn {

struct APPNPOptions {
  float dropout = 0.0f;        ///< of Â's entries, in training mode
  bool add_self_loops = true;  ///< of weight 1 to nodes without one
  bool normalize = true;       ///< else Â is A as it is
};

/// Z_0 = X, Z_k+1 = (1 - α) Â Z_k + α X: K steps of personalised PageRank (Gasteiger et al., Predict then
/// Propagate, 2019, eq. 4), without parameters. x [N,F] -> [N,F]. Dropout draws at every step from the
/// entries that the step before has left, as in PyG's APPNP. `edge_weight` [M] by edge number stands in the
/// place of the graph's own weights, and may require a gradient.
class APPNP : public Module {
 public:
  APPNP(int K, double alpha, const APPNPOptions& options = {});
  Var operator()(const Graph& graph, const Var& x, const Var& edge_weight = {}) const;
  std::string describe() const override;

 private:
  int hops_;
  double alpha_;
  float dropout_;
  GcnNormOptions norm_;
};

}  // namespace adj::nn
