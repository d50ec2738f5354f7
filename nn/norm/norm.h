#pragma once

#include <adjoint/autograd/norm.h>
#include <adjoint/nn/module.h>

namespace adj::nn {

/// Options of BatchNorm.
struct BatchNormOptions {
  double eps = 1e-5;      ///< added to variances
  double momentum = 0.1;  ///< weight of the newest batch in the running statistics
};

/// Batch norm over the nodes, per feature (Ioffe & Szegedy 2015). The epilogue, relu or elu and dropout, is
/// fused: `norm(x, {.activation = Activation::relu, .dropout = 0.5f})`. Dropout draws in training mode only.
class BatchNorm : public Module {
 public:
  explicit BatchNorm(int64_t features, const BatchNormOptions& options = {});
  /// A training pass updates the running statistics, so passes of one layer must not run concurrently then;
  /// in evaluation mode they may.
  Var operator()(const Var& x, const NormEpilogue& epilogue = {}) const;
  std::string describe() const override { return fmt::format("BatchNorm({})", weight.size(0)); }

  Var weight, bias;                  ///< γ and β, [features]
  Tensor running_mean, running_var;  ///< [features] each

 private:
  BatchNormOptions options_;
};

/// Options of LayerNorm.
struct LayerNormOptions {
  double eps = 1e-5;  ///< added to variances
};

/// Layer norm over the features of each node (Ba et al. 2016).
class LayerNorm : public Module {
 public:
  explicit LayerNorm(int64_t features, const LayerNormOptions& options = {});
  Var operator()(const Var& x) const { return layer_norm(x, weight, bias, eps_); }  ///< x [N,features]
  std::string describe() const override { return fmt::format("LayerNorm({})", weight.size(0)); }

  Var weight, bias;  ///< γ and β, [features]

 private:
  double eps_;
};

}  // namespace adj::nn
