#pragma once

#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/module.h>

namespace adj::nn {

/// Options of AGNNConv.
struct AGNNConvOptions {
  bool requires_grad = true;   ///< β is a parameter, else a buffer of the value 1
  bool add_self_loops = true;  ///< every node attends to itself, once
};

/// Σ_j α_ij x_j, α_ij = softmax_j(β cos(x_i, x_j)) (Thekumparampil et al., Attention-based Graph Neural
/// Network for Semi-supervised Learning, 2018, eq. 8). x [N,F] -> [N,F]. β is initially 1. PyG's AGNNConv.
class AGNNConv : public Module {
 public:
  explicit AGNNConv(const AGNNConvOptions& options = {});
  /// x of all nodes, or {x_src [num_src,F], x_dst [num_dst,F]} -> [num_dst,F].
  Var operator()(const Structure& structure, const Sides& x) const;
  std::string describe() const override { return "AGNNConv"; }

  Var beta;  ///< [1], or absent

 private:
  Tensor fixed_beta_;
  bool self_loops_;
};

}  // namespace adj::nn
