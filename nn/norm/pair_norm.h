#pragma once

#include <adjoint/nn/module.h>

namespace adj::nn {

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
