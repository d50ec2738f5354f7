#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/core/random.h>
#include <adjoint/kernels/types/activation.h>

namespace adj {

/// Fused epilogue of a batch norm: dropout(act(z)).
struct NormEpilogue {
  Activation activation = Activation::none;  ///< none, relu or elu
  float dropout = 0.0f;
};

/// Running statistics of a batch norm: `mean` and (unbiased) `variance`, each [F]; float32 for bfloat16
/// features. A training pass moves those that are present by `momentum` towards the batch's.
struct RunningStatistics {
  Tensor mean;
  Tensor variance;
  double momentum = 0.1;
};

/// epilogue(γ (x - μ) / sqrt(σ² + eps) + β) per column of x[N,F] (Ioffe & Szegedy 2015). Training computes μ,
/// σ² from x, which needs at least two rows, and updates `running`; inference uses `running` as constants,
/// without dropout. γ, β [F]. Saved: x and two rows.
Var batch_norm(const Var& x, const Var& gamma, const Var& beta, RunningStatistics& running, bool training,
               double eps = 1e-5, const NormEpilogue& wanted = {},
               Generator& generator = default_generator());

/// γ (x_i - μ_i) / sqrt(σ_i² + eps) + β per row (Ba et al. 2016).
Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double eps = 1e-5);

/// x_i / max(‖x_i‖₂, eps) per row.
Var l2_normalize(const Var& x, double eps = 1e-12);

}  // namespace adj
