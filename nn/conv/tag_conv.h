#pragma once

#include <adjoint/nn/conv/gcn_norm.h>
#include <adjoint/nn/linear.h>

namespace adj::nn {

/// Options of TAGConv.
struct TAGConvOptions {
  int K = 3;              ///< highest power of A
  bool bias = true;       ///< b
  bool normalize = true;  ///< else A unchanged
};

/// Σ_k A^k X W_k + b over k = 0 … K, with A = D^-1/2 A D^-1/2 if `normalize`; no self-loops are added (Du et
/// al., Topology Adaptive Graph Convolutional Networks, 2017). x [N,in], features of any kind -> [N,out].
/// Aggregates on the narrower side: powers of A on X, or Horner's rule on the products. W_k uniform in ±1 /
/// sqrt(in), b zero, as in PyG's TAGConv. `edge_weight` [M] by edge number replaces the graph's weights and
/// may require a gradient. A relation or block needs one set of nodes.
class TAGConv : public Module {
 public:
  TAGConv(int64_t in, int64_t out, const TAGConvOptions& options = {});
  /// x of all nodes. Throws for two sets of nodes, or weights that are not [M].
  Var operator()(const Structure& structure, const Sides& x, const Var& edge_weight = {}) const;
  std::string describe() const override;

  ModuleList<Linear> lins{this, "lins"};  ///< W_0 … W_K
  Var bias;                               ///< [out], or absent

 private:
  template <class X>
  Var after_product(const GcnNorm& a, const X& x) const;

  GcnNormOptions norm_;
};

}  // namespace adj::nn
