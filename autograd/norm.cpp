#include <adjoint/autograd/detail/ranks.h>
#include <adjoint/autograd/norm.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/core/random.h>
#include <adjoint/kernels/elementwise/unary.h>
#include <adjoint/kernels/norm/norm.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace adj {

namespace {

Tensor row_like(const Tensor& x, int dim) { return Tensor::empty({x.size(dim)}, x.dtype(), x.device()); }
// A row for a statistic, in the accumulator dtype.
Tensor accumulator_row_like(const Tensor& x, int dim) {
  return Tensor::empty({x.size(dim)}, accumulator_dtype(x.dtype()), x.device());
}

}  // namespace

Var batch_norm(const Var& x, const Var& gamma, const Var& beta, RunningStatistics& running, bool training,
               double eps, const NormEpilogue& wanted, Generator& generator) {
  const OpScope scope("batch_norm", x);
  check_same_device("batch_norm", {x, gamma, beta});
  ADJ_CHECK(x.shape().dims() == 2 && gamma.shape() == Shape{x.size(1)} && beta.shape() == gamma.shape(),
            "batch_norm: input {}, gamma {}, beta {}", x.shape().str(), gamma.shape().str(),
            beta.shape().str());
  const RankRows* ranks = training ? RankScope::current() : nullptr;
  const std::vector<int64_t> counts =
      ranks != nullptr ? detail::counts_of_ranks(*ranks, x.size(0)) : std::vector{x.size(0)};
  const int64_t rows = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  ADJ_CHECK(!training || rows > 1,
            "batch_norm: input {} has no variance to train with, expected two rows or more", x.shape().str());
  kernels::Epilogue epilogue;
  epilogue.activation = wanted.activation;
  if (training && wanted.dropout > 0.0f) {
    epilogue.dropout = true;
    epilogue.rule = dropout_rule(wanted.dropout);
    epilogue.key = detail::key_of_rows(generator, x.shape());
  }
  Tensor mean = accumulator_row_like(x.value(), 1), rstd = accumulator_row_like(x.value(), 1);
  Tensor y = Tensor::empty_like(x.value());
  if (ranks != nullptr) {
    Tensor moments = Tensor::empty({2, x.size(1)}, DType::f64, x.device());
    kernels::batch_norm_moments({.x = x.value(), .moments = moments});
    kernels::batch_norm_merge({.moments = detail::stacked_over_ranks(ranks->group, moments),
                               .rows = counts,
                               .eps = eps,
                               .momentum = running.momentum,
                               .mean = mean,
                               .rstd = rstd,
                               .running_mean = running.mean,
                               .running_var = running.variance});
  } else if (training) {
    kernels::batch_norm_statistics({.x = x.value(),
                                    .eps = eps,
                                    .momentum = running.momentum,
                                    .mean = mean,
                                    .rstd = rstd,
                                    .running_mean = running.mean,
                                    .running_var = running.variance});
  } else {
    kernels::batch_norm_running({.running_mean = running.mean,
                                 .running_var = running.variance,
                                 .eps = eps,
                                 .mean = mean,
                                 .rstd = rstd});
  }
  kernels::batch_norm_apply({.x = x.value(),
                             .mean = mean,
                             .rstd = rstd,
                             .gamma = gamma.value(),
                             .beta = beta.value(),
                             .epilogue = epilogue,
                             .y = y});
  enum : size_t { kX, kGamma, kBeta };
  return record("batch_norm", y, {x, gamma, beta},
                [x = Saved(x.value()), mean, rstd, gamma = Saved(gamma.value()), beta = Saved(beta.value()),
                 epilogue, training, ranks, rows](Tensor dy, Gradients& out) {
                  std::function<void(Tensor&)> over_ranks;
                  if (ranks != nullptr)
                    over_ranks = [ranks](Tensor& sums) { detail::sum_over_ranks(ranks->group, sums); };
                  Tensor dx = reuse(dy), dgamma = row_like(dy, 1), dbeta = row_like(dy, 1);
                  kernels::batch_norm_backward({.x = x.get(),
                                                .mean = mean,
                                                .rstd = rstd,
                                                .gamma = gamma.get(),
                                                .beta = beta.get(),
                                                .epilogue = epilogue,
                                                .of_batch = training,
                                                .dy = dy,
                                                .dx = dx,
                                                .dgamma = dgamma,
                                                .dbeta = dbeta,
                                                .all_rows = ranks != nullptr ? rows : 0,
                                                .sum_over_ranks = over_ranks});
                  out.add(kX, dx);
                  out.add(kGamma, dgamma);
                  out.add(kBeta, dbeta);
                });
}

Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double eps) {
  const OpScope scope("layer_norm", x);
  check_same_device("layer_norm", {x, gamma, beta});
  Tensor mean = accumulator_row_like(x.value(), 0), rstd = accumulator_row_like(x.value(), 0);
  Tensor y = Tensor::empty_like(x.value());
  kernels::layer_norm({.x = x.value(),
                       .gamma = gamma.value(),
                       .beta = beta.value(),
                       .eps = eps,
                       .mean = mean,
                       .rstd = rstd,
                       .y = y});
  enum : size_t { kX, kGamma, kBeta };
  return record("layer_norm", y, {x, gamma, beta},
                [x = Saved(x.value()), mean, rstd, gamma = Saved(gamma.value())](Tensor dy, Gradients& out) {
                  Tensor dx = reuse(dy), dgamma = row_like(dy, 1), dbeta = row_like(dy, 1);
                  kernels::layer_norm_backward({.x = x.get(),
                                                .mean = mean,
                                                .rstd = rstd,
                                                .gamma = gamma.get(),
                                                .dy = dy,
                                                .dx = dx,
                                                .dgamma = dgamma,
                                                .dbeta = dbeta});
                  out.add(kX, dx);
                  out.add(kGamma, dgamma);
                  out.add(kBeta, dbeta);
                });
}

Var l2_normalize(const Var& x, double eps) {
  const OpScope scope("l2_normalize", x);
  Tensor scale = accumulator_row_like(x.value(), 0), y = Tensor::empty_like(x.value());
  kernels::l2_normalize_rows({.x = x.value(), .eps = eps, .scale = scale, .y = y});
  return record("l2_normalize", y, {x}, [y = Saved(y), eps, scale](Tensor dy, Gradients& out) {
    Tensor dx = reuse(dy);
    kernels::l2_normalize_rows_backward({.y = y.get(), .eps = eps, .scale = scale, .dy = dy, .dx = dx});
    out.add(dx);
  });
}

}  // namespace adj
