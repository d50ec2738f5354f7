#include <adjoint/core/dispatch.h>
#include <adjoint/kernels/check.h>
#include <adjoint/kernels/norm.h>

namespace adj::kernels {

namespace {

void check_per_column(std::string_view op, std::string_view name, const Tensor& tensor, const Tensor& x) {
  check_tensor(op, name, tensor, {x.size(1)}, x.dtype(), x.device());
}

void check_per_row(std::string_view op, std::string_view name, const Tensor& tensor, const Tensor& x) {
  check_tensor(op, name, tensor, {x.size(0)}, x.dtype(), x.device());
}

void check_epilogue(std::string_view op, const Epilogue& epilogue) {
  ADJ_CHECK(epilogue.activation == Activation::none || epilogue.activation == Activation::relu,
            "{}: epilogue {}, expected none or relu", op, name_of(epilogue.activation));
  ADJ_CHECK(epilogue.rule.threshold < 65536u, "{}: dropout threshold {}, expected less than 65536", op,
            epilogue.rule.threshold);
}

}  // namespace

void batch_norm_statistics(const Tensor& x, double eps, double momentum, Tensor& mean, Tensor& rstd,
                           Tensor& running_mean, Tensor& running_var) {
  constexpr std::string_view op = "batch_norm_statistics";
  check_matrix(op, "x", x);
  ADJ_CHECK(x.size(0) >= 1, "{}: x is {}, expected at least one row", op, x.str());
  check_per_column(op, "mean", mean, x);
  check_per_column(op, "rstd", rstd, x);
  if (running_mean) check_per_column(op, "running_mean", running_mean, x);
  if (running_var) check_per_column(op, "running_var", running_var, x);
  ADJ_DISPATCH(x.device(), batch_norm_statistics, x, eps, momentum, mean, rstd, running_mean, running_var);
}

void batch_norm_running(const Tensor& running_mean, const Tensor& running_var, double eps, Tensor& mean,
                        Tensor& rstd) {
  constexpr std::string_view op = "batch_norm_running";
  ADJ_CHECK(running_mean.dims() == 1, "{}: running_mean is {}, expected one row", op, running_mean.str());
  check_like(op, "running_var", running_var, running_mean);
  check_like(op, "mean", mean, running_mean);
  check_like(op, "rstd", rstd, running_mean);
  ADJ_DISPATCH(mean.device(), batch_norm_running, running_mean, running_var, eps, mean, rstd);
}

void batch_norm_apply(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& gamma,
                      const Tensor& beta, const Epilogue& epilogue, Tensor& y) {
  constexpr std::string_view op = "batch_norm_apply";
  check_matrix(op, "x", x);
  check_per_column(op, "mean", mean, x);
  check_per_column(op, "rstd", rstd, x);
  check_per_column(op, "gamma", gamma, x);
  check_per_column(op, "beta", beta, x);
  check_epilogue(op, epilogue);
  check_like(op, "y", y, x);
  ADJ_DISPATCH(x.device(), batch_norm_apply, x, mean, rstd, gamma, beta, epilogue, y);
}

void batch_norm_backward(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& gamma,
                         const Tensor& beta, const Epilogue& epilogue, const Tensor& dy, Tensor& dx,
                         Tensor& dgamma, Tensor& dbeta) {
  constexpr std::string_view op = "batch_norm_backward";
  check_matrix(op, "x", x);
  ADJ_CHECK(x.size(0) >= 1, "{}: x is {}, expected at least one row", op, x.str());
  check_per_column(op, "mean", mean, x);
  check_per_column(op, "rstd", rstd, x);
  check_per_column(op, "gamma", gamma, x);
  check_per_column(op, "beta", beta, x);
  check_epilogue(op, epilogue);
  check_like(op, "dy", dy, x);
  check_like(op, "dx", dx, x);
  check_per_column(op, "dgamma", dgamma, x);
  check_per_column(op, "dbeta", dbeta, x);
  ADJ_DISPATCH(x.device(), batch_norm_backward, x, mean, rstd, gamma, beta, epilogue, dy, dx, dgamma, dbeta);
}

void layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps, Tensor& mean,
                Tensor& rstd, Tensor& y) {
  constexpr std::string_view op = "layer_norm";
  check_matrix(op, "x", x);
  check_per_column(op, "gamma", gamma, x);
  check_per_column(op, "beta", beta, x);
  check_per_row(op, "mean", mean, x);
  check_per_row(op, "rstd", rstd, x);
  check_like(op, "y", y, x);
  ADJ_DISPATCH(x.device(), layer_norm, x, gamma, beta, eps, mean, rstd, y);
}

void layer_norm_backward(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& gamma,
                         const Tensor& dy, Tensor& dx, Tensor& dgamma, Tensor& dbeta) {
  constexpr std::string_view op = "layer_norm_backward";
  check_matrix(op, "x", x);
  check_per_row(op, "mean", mean, x);
  check_per_row(op, "rstd", rstd, x);
  check_per_column(op, "gamma", gamma, x);
  check_like(op, "dy", dy, x);
  check_like(op, "dx", dx, x);
  check_per_column(op, "dgamma", dgamma, x);
  check_per_column(op, "dbeta", dbeta, x);
  ADJ_DISPATCH(x.device(), layer_norm_backward, x, mean, rstd, gamma, dy, dx, dgamma, dbeta);
}

void l2_normalize_rows(const Tensor& x, double eps, Tensor& scale, Tensor& y) {
  check_matrix("l2_normalize_rows", "x", x);
  check_per_row("l2_normalize_rows", "scale", scale, x);
  check_like("l2_normalize_rows", "y", y, x);
  ADJ_DISPATCH(x.device(), l2_normalize_rows, x, eps, scale, y);
}

void l2_normalize_rows_backward(const Tensor& y, const Tensor& scale, const Tensor& dy, Tensor& dx) {
  check_matrix("l2_normalize_rows_backward", "y", y);
  check_per_row("l2_normalize_rows_backward", "scale", scale, y);
  check_like("l2_normalize_rows_backward", "dy", dy, y);
  check_like("l2_normalize_rows_backward", "dx", dx, y);
  ADJ_DISPATCH(y.device(), l2_normalize_rows_backward, y, scale, dy, dx);
}

void sum_normalize_rows(const Tensor& x, Tensor& y) {
  check_matrix("sum_normalize_rows", "x", x);
  check_like("sum_normalize_rows", "y", y, x);
  ADJ_DISPATCH(x.device(), sum_normalize_rows, x, y);
}

}  // namespace adj::kernels
