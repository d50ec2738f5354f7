#pragma once

#include "cases.h"
#include <adjoint/kernels/norm/norm.h>

// The norms' kernels with their operands.
namespace adj::test {

struct NormGradients {
  Tensor dx, dgamma, dbeta;

  void check(const Numbers& by_x, const Numbers& by_gamma, const Numbers& by_beta, double tolerance) const {
    CHECK(close(dx, by_x, tolerance));
    CHECK(close(dgamma, by_gamma, tolerance));
    CHECK(close(dbeta, by_beta, tolerance));
  }
};

/// batch_norm of x with its statistics.
struct Batch {
  Tensor x, gamma, beta, mean, rstd;
  Tensor running_mean, running_var;

  void statistics(Tensor to_mean = {}, Tensor to_var = {}, double eps = 1e-5) {
    kernels::batch_norm_statistics({.x = x,
                                    .eps = eps,
                                    .momentum = 0.1,
                                    .mean = mean,
                                    .rstd = rstd,
                                    .running_mean = to_mean,
                                    .running_var = to_var});
  }
  void apply(const kernels::Epilogue& epilogue, Tensor& y) const {
    kernels::batch_norm_apply(
        {.x = x, .mean = mean, .rstd = rstd, .gamma = gamma, .beta = beta, .epilogue = epilogue, .y = y});
  }
  /// In place if dx is dy.
  NormGradients backward(const kernels::Epilogue& epilogue, const Tensor& dy, const Tensor& dx,
                         bool of_batch = true) const {
    NormGradients g{dx, Tensor::empty_like(gamma), Tensor::empty_like(beta)};
    kernels::batch_norm_backward({.x = x,
                                  .mean = mean,
                                  .rstd = rstd,
                                  .gamma = gamma,
                                  .beta = beta,
                                  .epilogue = epilogue,
                                  .of_batch = of_batch,
                                  .dy = dy,
                                  .dx = g.dx,
                                  .dgamma = g.dgamma,
                                  .dbeta = g.dbeta});
    return g;
  }
  Batch to(Device device) const {
    Batch b = *this;
    for (Tensor* t : {&b.x, &b.gamma, &b.beta, &b.mean, &b.rstd, &b.running_mean, &b.running_var})
      *t = t->to(device).clone();
    return b;
  }
  void draw_statistics() {
    mean = random_tensor(mean.shape(), mean.dtype(), mean.device());
    rstd = random_tensor(mean.shape(), mean.dtype(), mean.device());
  }
};

/// layer_norm of random numbers.
struct LayerNorm {
  Tensor x, gamma, mean, rstd, beta;  ///< beta only for forward()

  LayerNorm(int64_t rows, int64_t columns, DType dtype, Device device)
      : x(random_tensor({rows, columns}, dtype, device)),
        gamma(random_tensor({columns}, dtype, device)),
        mean(random_tensor({rows}, accumulator_dtype(dtype), device)),
        rstd(random_tensor({rows}, accumulator_dtype(dtype), device)) {}
  LayerNorm to(Device device) const {
    LayerNorm norm = *this;
    for (Tensor* t : {&norm.x, &norm.gamma, &norm.mean, &norm.rstd, &norm.beta})
      if (*t) *t = t->to(device).clone();
    return norm;
  }
  void draw_beta() { beta = random_tensor(gamma.shape(), gamma.dtype(), gamma.device()); }
  Tensor forward(double eps) {
    Tensor y = Tensor::empty_like(x);
    kernels::layer_norm(
        {.x = x, .gamma = gamma, .beta = beta, .eps = eps, .mean = mean, .rstd = rstd, .y = y});
    return y;
  }
  NormGradients backward(const Tensor& dy, const Tensor& dx) const {
    NormGradients g{dx, Tensor::empty_like(gamma), Tensor::empty_like(gamma)};
    kernels::layer_norm_backward({.x = x,
                                  .mean = mean,
                                  .rstd = rstd,
                                  .gamma = gamma,
                                  .dy = dy,
                                  .dx = g.dx,
                                  .dgamma = g.dgamma,
                                  .dbeta = g.dbeta});
    return g;
  }
};

inline Batch random_batch(int64_t rows, int64_t columns, DType dtype, Device device) {
  const auto full = [&](double value) {
    return Tensor::full({columns}, value, accumulator_dtype(dtype), device);
  };
  return {random_tensor({rows, columns}, dtype, device),
          random_tensor({columns}, dtype, device),
          random_tensor({columns}, dtype, device),
          full(NAN),
          full(NAN),
          full(0.5),
          full(2.0)};
}

}  // namespace adj::test
