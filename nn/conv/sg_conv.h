#pragma once

#include <adjoint/nn/conv/gcn_norm.h>

namespace adj::nn {

/// Options of SGConv.
struct SGConvOptions {
  int K = 1;                   ///< propagation steps
  bool bias = true;            ///< b
  bool add_self_loops = true;  ///< of weight 1, on nodes without one
};

/// Â^K X W + b: K propagation steps and one linear map (Wu et al., Simplifying Graph Convolutional Networks,
/// 2019). x [N,in], features of any kind -> [N,out]. Transforms first if that is narrower. As the paper
/// precomputes Â^K X: with PropagationCache::constant(x), x is propagated once for the whole training. W and
/// b are uniform in ±1 / sqrt(in), as in PyG's SGConv. `edge_weight` [M] by edge number replaces the graph's
/// weights and may require a gradient. With K > 1 a relation or block needs one set of nodes.
class SGConv : public Module {
 public:
  SGConv(int64_t in, int64_t out, const SGConvOptions& options = {});
  /// x of all nodes, or for K = 1 of the sources [num_src,in] -> [num_dst,out].
  Var operator()(const Structure& structure, const Sides& x, const Var& edge_weight = {}) const;
  std::string describe() const override;

  Var weight;  ///< [in, out]; PyG's "lin.weight"
  Var bias;    ///< [out], or absent; PyG's "lin.bias"

 private:
  Var propagate(const GcnNorm& a, Var y, const Var& last_bias) const;

  int hops_;
  GcnNormOptions norm_;
};

}  // namespace adj::nn
