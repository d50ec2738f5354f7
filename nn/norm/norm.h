#pragma once

#include <adjoint/autograd/norm.h>
#include <adjoint/nn/module.h>

namespace adj::nn {

/// Batch norm over the nodes, per feature (Ioffe & Szegedy 2015). The epilogue, relu or elu and dropout, is
/// fused: `norm(x, {.activation = Activation::relu, .dropout = 0.5f})`. Dropout draws in training mode only.
class BatchNorm : public Module {
 public:
  static constexpr double kEpsilon = 1e-5;
  /// `momentum`: weight of the newest batch in the running statistics.
  explicit BatchNorm(int64_t features, double eps = kEpsilon, double momentum = 0.1);
  Var operator()(const Var& x, const NormEpilogue& epilogue = {});
  std::string describe() const override { return fmt::format("BatchNorm({})", weight.size(0)); }

  Var weight, bias;                  ///< γ and β, [features]
  Tensor running_mean, running_var;  ///< [features] each

 private:
  double eps_, momentum_;
};

/// Layer norm over the features of each node (Ba et al. 2016).
class LayerNorm : public Module {
 public:
  explicit LayerNorm(int64_t features, double eps = 1e-5);
  Var operator()(const Var& x) const { return layer_norm(x, weight, bias, eps_); }
  std::string describe() const override { return fmt::format("LayerNorm({})", weight.size(0)); }

  Var weight, bias;  ///< γ and β, [features]

 private:
  double eps_;
};

}  // namespace adj::nn
