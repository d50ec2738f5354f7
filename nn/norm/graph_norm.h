#pragma once

#include <adjoint/nn/module.h>

namespace adj::nn {

/// Options of GraphNorm.
struct GraphNormOptions {
  double eps = 1e-5;  ///< positive
};

/// γ (x - α μ) / sqrt(σ² + eps) + β per feature, α learned, σ² the mean of (x - α μ)² (Cai et al., GraphNorm,
/// 2021). x [N,F] -> [N,F]. Over all rows, or over the rows offsets[g] … offsets[g + 1] of each graph of a
/// batch (int64 [G + 1], as for segment_sum).
class GraphNorm : public Module {
 public:
  explicit GraphNorm(int64_t features, const GraphNormOptions& options = {});
  Var operator()(const Var& x, const Tensor& offsets = {}) const;  ///< offsets: absent for one graph
  std::string describe() const override { return fmt::format("GraphNorm({})", weight.size(0)); }

  Var weight, bias, mean_scale;  ///< γ, β and α, [features]

 private:
  double eps_;
};

/// Options of PairNorm.
struct PairNormOptions {
  double scale = 1.0;               ///< s
  bool scale_individually = false;  ///< each row to the same length, else by the mean square length
  double eps = 1e-5;                ///< positive; added to the mean square, or to each length
};

/// s (x - μ) / sqrt(eps + mean_i ‖x_i - μ‖²), or by each row's own length (Zhao & Akoglu, PairNorm, 2020);
/// counters oversmoothing in deep networks. x [N,F] -> [N,F], without parameters. Over all rows, or over the
/// rows offsets[g] … offsets[g + 1] of each graph of a batch (int64 [G + 1], as for segment_sum).
class PairNorm : public Module {
 public:
  explicit PairNorm(const PairNormOptions& options = {});
  Var operator()(const Var& x, const Tensor& offsets = {}) const;  ///< offsets: absent for one graph
  std::string describe() const override { return "PairNorm"; }

 private:
  PairNormOptions options_;
};

}  // namespace adj::nn
