#pragma once

#include <adjoint/nn/conv/gcn_norm.h>

#include <optional>

namespace adj::nn {

/// Options of GCNConv.
struct GCNConvOptions {
  /// Added self-loops weigh 2 instead of 1. (PyG 2.8 ignores it for graphs without weights.)
  bool improved = false;
  std::optional<bool> add_self_loops = {};   ///< on nodes without one; default: same as `normalize`
  bool normalize = true;                     ///< else the edges' weights unchanged
  bool bias = true;                          ///< b
  Activation activation = Activation::none;  ///< none or relu, fused into the last pass
};

/// Â X W + b with Â = D^-1/2 (A + I) D^-1/2 (Kipf & Welling 2017, eq. 2; self-loops only where missing). x
/// [N,in], features of any kind -> [N,out]. Aggregates on the narrower side: before the product if in <= out,
/// else after it. W is Glorot-uniform, b zero. PyG's GCNConv; no `cached` option, as the graph keeps Â.
/// `edge_weight` [M] by edge number replaces the graph's weights and may require a gradient. On a relation or
/// a sampled block degrees are counted within it (GcnNorm).
class GCNConv : public Module {
 public:
  GCNConv(int64_t in, int64_t out, const GCNConvOptions& options = {});
  /// x of all nodes, or of the sources [num_src,in] -> [num_dst,out].
  Var operator()(const Structure& structure, const Sides& x, const Var& edge_weight = {}) const;
  std::string describe() const override;

  Var weight;  ///< [in, out]; PyG's "lin.weight"
  Var bias;    ///< [out], or absent

 private:
  GcnNormOptions norm_;
  Activation activation_;
};

}  // namespace adj::nn
