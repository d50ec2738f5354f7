#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/elementwise/unary.h>

#include <functional>
#include <vector>

namespace adj::kernels {

/// Fused epilogue of a normalization: z -> dropout(act(z)), with element p (row-major) at position p of the
/// sequence `key`, by `rule`. Saves nothing: the backward pass recomputes z and the mask.
struct Epilogue {
  Activation activation = Activation::none;  ///< none, relu or elu
  bool dropout = false;
  DropoutRule rule;
  RandomKey key;
};

namespace detail {

inline void check_per_column(std::string_view op, NamedList tensors, const Tensor& x) {
  check_tensor(op, tensors, {x.size(1)}, x.dtype(), x.device());
}

/// A per-column statistic in the accumulator dtype.
inline void check_of_columns(std::string_view op, NamedList tensors, const Tensor& x) {
  check_tensor(op, tensors, {x.size(1)}, accumulator_dtype(x.dtype()), x.device());
}

inline void check_of_rows(std::string_view op, NamedList tensors, const Tensor& x) {
  check_tensor(op, tensors, {x.size(0)}, accumulator_dtype(x.dtype()), x.device());
}

inline void check_epilogue(std::string_view op, const Epilogue& epilogue) {
  const Activation activation = epilogue.activation;
  ADJ_CHECK(activation == Activation::none || activation == Activation::relu || activation == Activation::elu,
            "{}: activation {}, expected none, relu or elu", op, name_of(activation));
  ADJ_CHECK(epilogue.rule.threshold < 65536u, "{}: dropout threshold {}, expected less than 65536", op,
            epilogue.rule.threshold);
}

}  // namespace detail

/// Calls `f.template operator()<A>()` with the epilogue's activation.
template <class F>
decltype(auto) dispatch_epilogue_activation(Activation activation, F&& f) {
  return dispatch_value<Activation::relu, Activation::elu, Activation::none>(activation, f);
}

/// Per column of x[N,F], N >= 1: mean[F] and rstd[F] = 1 / sqrt(biased variance + eps), by Welford's
/// recurrence or shifted sums merged in a fixed order. If given, running_mean and running_var [F] move by
/// `momentum` towards the batch's mean and unbiased variance (Ioffe & Szegedy 2015). All four have the
/// accumulator dtype.
struct BatchNormStatisticsArgs {
  const Tensor& x;
  double eps;
  double momentum;
  Tensor& mean;
  Tensor& rstd;
  Tensor& running_mean;
  Tensor& running_var;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    ADJ_CHECK(x.size(0) >= 1, "{}: x is {}, expected at least one row", op, x.str());
    detail::check_of_columns(op, {{"mean", mean}, {"rstd", rstd}}, x);
    if (running_mean) detail::check_of_columns(op, {{"running_mean", running_mean}}, x);
    if (running_var) detail::check_of_columns(op, {{"running_var", running_var}}, x);
  }
};
ADJ_KERNEL(batch_norm_statistics, BatchNormStatisticsArgs)  ///< Statistics of a batch.

/// Per column of x[N,F]: its mean and the sum of squared deviations from it, `moments` [2,F] float64; zeros
/// if N is 0. For statistics over the rows of several ranks.
struct BatchNormMomentsArgs {
  const Tensor& x;
  Tensor& moments;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_tensor(op, "moments", moments, {2, x.size(1)}, DType::f64, x.device());
  }
};
ADJ_KERNEL(batch_norm_moments, BatchNormMomentsArgs)  ///< Of a rank's rows.

/// The statistics of batch_norm_statistics over all of several sets of rows: `moments` [R,2,F] of
/// batch_norm_moments, of rows[r] rows each, merged in their order (Chan et al. 1983); one row at least.
struct BatchNormMergeArgs {
  const Tensor& moments;
  const std::vector<int64_t>& rows;
  double eps;            ///< as in batch_norm_statistics
  double momentum;       ///< likewise
  Tensor& mean;          ///< [F], float32 or float64
  Tensor& rstd;          ///< likewise
  Tensor& running_mean;  ///< likewise, or absent
  Tensor& running_var;   ///< likewise, or absent

  static constexpr size_t kMostSets = 256;  ///< limits R

  Device device() const { return moments.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    ADJ_CHECK(moments && moments.dims() == 3 && moments.dtype() == DType::f64 && moments.size(1) == 2 &&
                  moments.size(0) == std::ssize(rows) && rows.size() <= kMostSets,
              "{}: moments are {} for {} sets, expected float64 [R, 2, F] of at most {}", op, moments.str(),
              rows.size(), kMostSets);
    int64_t all = 0;
    for (const int64_t count : rows) all += count;
    ADJ_CHECK(all >= 1, "{}: {} rows in all sets, expected at least one", op, all);
    check_tensor(op, "mean", mean, {moments.size(2)}, mean.dtype(), moments.device());
    check_like(op, "rstd", rstd, mean);
    if (running_mean) check_like(op, "running_mean", running_mean, mean);
    if (running_var) check_like(op, "running_var", running_var, mean);
  }
};
ADJ_KERNEL(batch_norm_merge, BatchNormMergeArgs)  ///< Statistics of several sets of rows.

/// mean and rstd from running statistics: mean = running_mean, rstd = 1 / sqrt(running_var + eps). All of one
/// dtype, float32 or float64.
struct BatchNormRunningArgs {
  const Tensor& running_mean;
  const Tensor& running_var;
  double eps;
  Tensor& mean;
  Tensor& rstd;

  Device device() const { return mean.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    ADJ_CHECK(running_mean.dims() == 1 && accumulator_dtype(running_mean.dtype()) == running_mean.dtype(),
              "{}: running_mean is {}, expected one row, not bfloat16", op, running_mean.str());
    check_like(op, {{"running_var", running_var}, {"mean", mean}, {"rstd", rstd}}, running_mean);
  }
};
ADJ_KERNEL(batch_norm_running, BatchNormRunningArgs)  ///< Statistics for evaluation.

/// y = epilogue((x - mean) * rstd * gamma + beta), all statistics per column, mean and rstd of the
/// accumulator dtype. In-place allowed (`y` is `x`).
struct BatchNormApplyArgs {
  const Tensor& x;
  const Tensor& mean;
  const Tensor& rstd;
  const Tensor& gamma;
  const Tensor& beta;
  Epilogue epilogue = {};
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    detail::check_of_columns(op, {{"mean", mean}, {"rstd", rstd}}, x);
    detail::check_per_column(op, {{"gamma", gamma}, {"beta", beta}}, x);
    detail::check_epilogue(op, epilogue);
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(batch_norm_apply, BatchNormApplyArgs)  ///< Normalises columns.

/// Gradients dgamma[F], dbeta[F], dx[N,F] from `gamma`, `beta` and `epilogue` of the forward call; mean and
/// rstd have the accumulator dtype. `dx` may be `dy`. `of_batch`: mean and rstd are x's own, and dx includes
/// their gradient; otherwise they are constants, and N may be 0. If they are those of more rows, `all_rows`,
/// `sum_over_ranks` replaces the sums over these rows, accumulator dtype [2,F], by those over all before dx
/// is computed; dgamma and dbeta are of these rows.
struct BatchNormBackwardArgs {
  const Tensor& x;
  const Tensor& mean;
  const Tensor& rstd;
  const Tensor& gamma;
  const Tensor& beta;
  Epilogue epilogue = {};
  bool of_batch = true;
  const Tensor& dy;
  Tensor& dx;
  Tensor& dgamma;
  Tensor& dbeta;
  int64_t all_rows = 0;                                   ///< 0: those of x
  std::function<void(Tensor& sums)> sum_over_ranks = {};  ///< with all_rows

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    ADJ_CHECK(!of_batch || x.size(0) >= 1 || all_rows >= 1, "{}: x is {}, expected at least one row", op,
              x.str());
    ADJ_CHECK((all_rows > 0) == static_cast<bool>(sum_over_ranks), "{}: sums over {} rows of all ranks", op,
              all_rows);
    detail::check_of_columns(op, {{"mean", mean}, {"rstd", rstd}}, x);
    detail::check_per_column(op, {{"gamma", gamma}, {"beta", beta}}, x);
    detail::check_epilogue(op, epilogue);
    check_like(op, {{"dy", dy}, {"dx", dx}}, x);
    detail::check_per_column(op, {{"dgamma", dgamma}, {"dbeta", dbeta}}, x);
  }
};
ADJ_KERNEL(batch_norm_backward, BatchNormBackwardArgs)  ///< Gradients of x, gamma and beta.

/// y = (x - mean_i) * rstd_i * gamma + beta per row (Ba et al. 2016); mean[N] and rstd[N] = 1 / sqrt(biased
/// variance + `eps`), accumulator dtype, are saved for the backward pass.
struct LayerNormArgs {
  const Tensor& x;
  const Tensor& gamma;
  const Tensor& beta;
  double eps;
  Tensor& mean;
  Tensor& rstd;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    detail::check_per_column(op, {{"gamma", gamma}, {"beta", beta}}, x);
    detail::check_of_rows(op, {{"mean", mean}, {"rstd", rstd}}, x);
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(layer_norm, LayerNormArgs)  ///< Normalises rows.

/// With x̂ = (x - mean) rstd and g = dy gamma: `dx` = rstd (g - mean_f g - x̂ mean_f (g x̂)), `dgamma` [F] =
/// Σ_i dy x̂, `dbeta` [F] = Σ_i dy; `x`, `gamma`, `mean` and `rstd` as in layer_norm. `dx` may be `dy`.
struct LayerNormBackwardArgs {
  const Tensor& x;
  const Tensor& mean;
  const Tensor& rstd;
  const Tensor& gamma;
  const Tensor& dy;
  Tensor& dx;
  Tensor& dgamma;
  Tensor& dbeta;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    detail::check_of_rows(op, {{"mean", mean}, {"rstd", rstd}}, x);
    detail::check_per_column(op, {{"gamma", gamma}}, x);
    check_like(op, {{"dy", dy}, {"dx", dx}}, x);
    detail::check_per_column(op, {{"dgamma", dgamma}, {"dbeta", dbeta}}, x);
  }
};
ADJ_KERNEL(layer_norm_backward, LayerNormBackwardArgs)  ///< Gradients of layer_norm.

/// Row by row y_i = x_i / max(‖x_i‖₂, eps), `x` and `y` [N,F]; scale[N] = 1 / max(‖x_i‖₂, eps), accumulator
/// dtype, is saved for the backward pass.
struct L2NormalizeRowsArgs {
  const Tensor& x;
  double eps;
  Tensor& scale;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    detail::check_of_rows(op, {{"scale", scale}}, x);
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(l2_normalize_rows, L2NormalizeRowsArgs)  ///< Scales rows to length 1.

/// dx_i = scale_i (dy_i - ⟨y_i, dy_i⟩ y_i) from the outputs `y` and `scale`; scale_i dy_i for rows that are
/// shorter than `eps`, whose scale is 1 / eps. `dx` may be `dy`.
struct L2NormalizeRowsBackwardArgs {
  const Tensor& y;
  double eps;
  const Tensor& scale;
  const Tensor& dy;
  Tensor& dx;

  void check(std::string_view op) const {
    check_matrix(op, "y", y);
    detail::check_of_rows(op, {{"scale", scale}}, y);
    check_like(op, {{"dy", dy}, {"dx", dx}}, y);
  }
};
ADJ_KERNEL(l2_normalize_rows_backward, L2NormalizeRowsBackwardArgs)  ///< Gradient of l2_normalize_rows.

/// y_i = x_i / Σ_f x_if; rows whose sum is 0 stay unchanged. For bag-of-words features. `y` may be `x`.
struct SumNormalizeRowsArgs {
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(sum_normalize_rows, SumNormalizeRowsArgs)  ///< Scales rows to sum 1.

}  // namespace adj::kernels
