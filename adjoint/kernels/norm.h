#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/activation.h>

namespace adj::kernels {

/// What follows a normalisation in the same pass: z -> dropout(act(z)). Saves nothing: the backward pass
/// rebuilds z and draws the mask again.
struct Epilogue {
  Activation activation = Activation::none;  ///< none or relu
  bool dropout = false;
  DropoutRule rule;
  RandomKey key;
};

/// Per column of x[N,F], N >= 1: mean[F] and rstd[F] = 1 / sqrt(biased variance + eps), by Welford's
/// recurrence or shifted sums merged in fixed order. Where present, running_mean and running_var (float like
/// x, [F]) move by `momentum` towards the batch's mean and unbiased variance (Ioffe & Szegedy 2015).
ADJ_KERNEL(void, batch_norm_statistics, const Tensor& x, double eps, double momentum, Tensor& mean,
           Tensor& rstd, Tensor& running_mean, Tensor& running_var)
/// The same two rows from running statistics: mean = running_mean, rstd = 1 / sqrt(running_var + eps).
ADJ_KERNEL(void, batch_norm_running, const Tensor& running_mean, const Tensor& running_var, double eps,
           Tensor& mean, Tensor& rstd)
/// y = epilogue((x - mean) * rstd * gamma + beta), all statistics per column. `y` may be `x`.
ADJ_KERNEL(void, batch_norm_apply, const Tensor& x, const Tensor& mean, const Tensor& rstd,
           const Tensor& gamma, const Tensor& beta, const Epilogue& epilogue, Tensor& y)
/// Gradients of the two together (batch statistics): dgamma[F], dbeta[F], dx[N,F]. `dx` may be `dy`.
ADJ_KERNEL(void, batch_norm_backward, const Tensor& x, const Tensor& mean, const Tensor& rstd,
           const Tensor& gamma, const Tensor& beta, const Epilogue& epilogue, const Tensor& dy, Tensor& dx,
           Tensor& dgamma, Tensor& dbeta)

/// y = (x - mean_i) * rstd_i * gamma + beta per row (Ba et al. 2016); mean[N], rstd[N] are outputs for
/// backward.
ADJ_KERNEL(void, layer_norm, const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps,
           Tensor& mean, Tensor& rstd, Tensor& y)
ADJ_KERNEL(void, layer_norm_backward, const Tensor& x, const Tensor& mean, const Tensor& rstd,
           const Tensor& gamma, const Tensor& dy, Tensor& dx, Tensor& dgamma, Tensor& dbeta)

/// y_i = x_i / max(‖x_i‖₂, eps); scale[N] = 1 / max(‖x_i‖₂, eps) is an output for backward.
ADJ_KERNEL(void, l2_normalize_rows, const Tensor& x, double eps, Tensor& scale, Tensor& y)
ADJ_KERNEL(void, l2_normalize_rows_backward, const Tensor& y, const Tensor& scale, const Tensor& dy,
           Tensor& dx)
/// y_i = x_i / Σ_f x_if; rows whose sum is 0 stay as they are. For bag-of-words features. `y` may be `x`.
ADJ_KERNEL(void, sum_normalize_rows, const Tensor& x, Tensor& y)

}  // namespace adj::kernels
