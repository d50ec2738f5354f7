#include <adjoint/autograd/norm.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/norm.h>

#include <cmath>

namespace adj {

namespace {

Tensor row_like(const Tensor& x, int dim) { return Tensor::empty({x.size(dim)}, x.dtype(), x.device()); }

}  // namespace

Var batch_norm(const Var& x, const Var& gamma, const Var& beta, RunningStatistics& running, bool training,
               double eps, const NormEpilogue& wanted, Generator& generator) {
  check_same_device("batch_norm", {x, gamma, beta});
  ADJ_CHECK(x.shape().dims() == 2 && gamma.shape() == Shape{x.size(1)} && beta.shape() == gamma.shape(),
            "batch_norm: input {}, gamma {}, beta {}", x.shape().str(), gamma.shape().str(),
            beta.shape().str());
  kernels::Epilogue epilogue;
  epilogue.activation = wanted.activation;
  if (training && wanted.dropout > 0.0f) {
    epilogue.dropout = true;
    epilogue.rule = DropoutRule::of(wanted.dropout);
    epilogue.key = generator.next();
  }
  Tensor mean = row_like(x.value(), 1), rstd = row_like(x.value(), 1);
  Tensor y = Tensor::empty_like(x.value());
  if (!training) {
    kernels::batch_norm_running(running.mean, running.variance, eps, mean, rstd);
    kernels::batch_norm_apply(x.value(), mean, rstd, gamma.value(), beta.value(), epilogue, y);
    return record("batch_norm", y, {x, gamma, beta}, [](const Tensor&, Gradients&) {
      fail(
          "batch_norm: its gradients are defined in training mode only, and this pass ran in evaluation "
          "mode");
    });
  }
  kernels::batch_norm_statistics(x.value(), eps, running.momentum, mean, rstd, running.mean,
                                 running.variance);
  kernels::batch_norm_apply(x.value(), mean, rstd, gamma.value(), beta.value(), epilogue, y);
  return record("batch_norm", y, {x, gamma, beta},
                [x = Saved(x.value()), mean, rstd, gamma = Saved(gamma.value()), beta = Saved(beta.value()),
                 epilogue](Tensor dy, Gradients& out) {
                  Tensor dx = reuse(dy), dgamma = row_like(dy, 1), dbeta = row_like(dy, 1);
                  kernels::batch_norm_backward(x.get(), mean, rstd, gamma.get(), beta.get(), epilogue, dy, dx,
                                               dgamma, dbeta);
                  out.add(0, dx);
                  out.add(1, dgamma);
                  out.add(2, dbeta);
                });
}

Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double eps) {
  check_same_device("layer_norm", {x, gamma, beta});
  Tensor mean = row_like(x.value(), 0), rstd = row_like(x.value(), 0);
  Tensor y = Tensor::empty_like(x.value());
  kernels::layer_norm(x.value(), gamma.value(), beta.value(), eps, mean, rstd, y);
  return record("layer_norm", y, {x, gamma, beta},
                [x = Saved(x.value()), mean, rstd, gamma = Saved(gamma.value())](Tensor dy, Gradients& out) {
                  Tensor dx = reuse(dy), dgamma = row_like(dy, 1), dbeta = row_like(dy, 1);
                  kernels::layer_norm_backward(x.get(), mean, rstd, gamma.get(), dy, dx, dgamma, dbeta);
                  out.add(0, dx);
                  out.add(1, dgamma);
                  out.add(2, dbeta);
                });
}

Var l2_normalize(const Var& x, double eps) {
  Tensor scale = row_like(x.value(), 0), y = Tensor::empty_like(x.value());
  kernels::l2_normalize_rows(x.value(), eps, scale, y);
  return record("l2_normalize", y, {x}, [y = Saved(y), scale](Tensor dy, Gradients& out) {
    Tensor dx = reuse(dy);
    kernels::l2_normalize_rows_backward(y.get(), scale, dy, dx);
    out.add(0, dx);
  });
}

}  // namespace adj
