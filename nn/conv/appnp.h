#pragma once

#include <adjoint/nn/conv/gcn_norm.h>

namespace adj::nn {

/// Options of APPNP.
struct APPNPOptions {
  float dropout = 0.0f;        ///< of Â's entries, in training mode
  bool add_self_loops = true;  ///< of weight 1, on nodes without one
  bool normalize = true;       ///< else Â is A
};

/// Z_0 = X, Z_k+1 = (1 - α) Â Z_k + α X: K steps of personalised PageRank (Gasteiger et al., Predict then
/// Propagate, 2019, eq. 4), without parameters. x [N,F] -> [N,F]. Each step's dropout draws from the entries
/// left by the step before, as in PyG's APPNP. `edge_weight` [M] by edge number replaces the graph's weights
/// and may require a gradient. A relation or block needs one set of nodes.
class APPNP : public Module {
 public:
  APPNP(int K, double alpha, const APPNPOptions& options = {});
  /// x of all nodes. Throws for two sets of nodes, or weights that are not [M].
  Var operator()(const Structure& structure, const Sides& x, const Var& edge_weight = {}) const;
  std::string describe() const override;

 private:
  int hops_;
  double alpha_;
  float dropout_;
  GcnNormOptions norm_;
};

}  // namespace adj::nn
