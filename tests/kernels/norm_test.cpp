#include "../op_table.h"
#include "cases.h"
#include <adjoint/kernels/norm/norm.h>

using namespace adj;
using namespace adj::test;
using kernels::Epilogue;

namespace {

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
};

Batch random_batch(int64_t rows, int64_t columns, DType dtype, Device device) {
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

/// The mean of a column and its sum of squared deviations.
std::pair<double, double> moments(const Numbers& x, int64_t column, int64_t columns) {
  double mean = 0.0, squares = 0.0;
  const double rows = static_cast<double>(x.size()) / static_cast<double>(columns);
  for (size_t i = uz(column); i < x.size(); i += uz(columns)) mean += x[i] / rows;
  for (size_t i = uz(column); i < x.size(); i += uz(columns)) squares += std::pow(x[i] - mean, 2);
  return {mean, squares};
}

}  // namespace

TEST_CASE("norms and their gradients, by the table of ops") { hold(ops::norms()); }

TEST_CASE("batch_norm_statistics keeps float32 precision if the mean is far from zero") {
  for (Device device : devices()) {
    // Multiples of 2^-6 around 2^16: every x is exact in float32, and so is the answer in double.
    const int64_t rows = 30000;
    Numbers x(uz(rows) * 3);
    const Numbers noise = values(random_ints(rows * 3, -64, 65));
    for (size_t i = 0; i < x.size(); ++i) x[i] = 65536.0 + noise[i] / 64;
    x[0] = -3e6;  // an outlier in the first row must not spoil the column either
    Batch b = random_batch(rows, 3, DType::f32, device);
    b.x = tensor_of(x, {rows, 3}, DType::f32, device);
    b.statistics(Tensor(), Tensor(), 0.0);
    for (size_t f = 0; f < 3; ++f) {
      const auto [m, squares] = moments(x, static_cast<int64_t>(f), 3);
      const double deviation = std::sqrt(squares / static_cast<double>(rows));
      CHECK(std::abs(values(b.mean)[f] - m) <= 1e-7 * std::abs(m) + 1e-5 * deviation);
      CHECK(values(b.rstd)[f] == doctest::Approx(1 / deviation).epsilon(1e-5));
    }
  }
}

TEST_CASE("batch_norm's relu has the derivative 0 at exactly 0") {
  on_devices_and_features([](Device device, DType dtype) {
    const auto row = [&](double v, DType type) { return Tensor::full({2}, v, type, device); };
    const DType accumulator = accumulator_dtype(dtype);
    const Batch b{tensor_of({1, 1, 3, -1, 1, 1}, {3, 2}, dtype, device),
                  row(1, dtype),
                  row(0, dtype),
                  row(1, accumulator),
                  row(1, accumulator),
                  {},
                  {}};
    const Tensor dy = Tensor::full({3, 2}, 1.0, dtype, device);
    Tensor dx = Tensor::empty_like(dy), dgamma = Tensor::empty_like(b.gamma), dbeta = dgamma.clone();
    kernels::batch_norm_backward({.x = b.x,
                                  .mean = b.mean,
                                  .rstd = b.rstd,
                                  .gamma = b.gamma,
                                  .beta = b.beta,
                                  .epilogue = {Activation::relu, false, {}, {}},
                                  .of_batch = false,
                                  .dy = dy,
                                  .dx = dx,
                                  .dgamma = dgamma,
                                  .dbeta = dbeta});
    CHECK(values(dx) == Numbers{0, 0, 1, 0, 0, 0});
    CHECK(values(dgamma) == Numbers{2, 0});
    CHECK(values(dbeta) == Numbers{1, 0});
  });
}

TEST_CASE("sum_normalize_rows: rows of zeros, rows that sum to 0, and denormal numbers") {
  on_devices_and_features([](Device device, DType dtype) {
    const double tiny = dtype == DType::f64 ? 0x1p-1070 : 0x1p-130;
    const Tensor x = tensor_of({0, 0, 2, -2, tiny, tiny * 3, 1, 3}, {4, 2}, dtype, device);
    Tensor y = Tensor::empty_like(x);
    kernels::sum_normalize_rows({.x = x, .y = y});
    CHECK(close(y, {0, 0, 2, -2, 0.25, 0.75, 0.25, 0.75}, tolerance(dtype)));
  });
}

TEST_CASE("norms pass on NaN, on every device") {
  on_devices_and_features([](Device device, DType dtype) {
    for (int64_t rows : {3, 5000}) {
      CAPTURE(rows);
      // Column 1 and row 0 have a NaN.
      Numbers x = values(random_tensor({rows, 3}, dtype));
      x[1] = NAN;
      Batch b = random_batch(rows, 3, dtype, device);
      b.x = tensor_of(x, {rows, 3}, dtype, device);
      b.statistics(b.running_mean, b.running_var);
      for (const Tensor& statistic : {b.mean, b.rstd, b.running_mean, b.running_var})
        check_nan(statistic, [](size_t f) { return f == 1; });
      const auto of_first_row = [](size_t i) { return i < 3; };
      Tensor scale = Tensor::empty({rows}, accumulator_dtype(dtype), device), y = Tensor::empty_like(b.x);
      kernels::l2_normalize_rows({.x = b.x, .eps = 1e-12, .scale = scale, .y = y});
      check_nan(y, of_first_row);
      CHECK(std::isnan(values(scale)[0]));
      kernels::sum_normalize_rows({.x = b.x, .y = y});
      check_nan(y, of_first_row);
    }
  });
}

TEST_CASE("norms reject mismatched arguments") {
  Batch b = random_batch(4, 3, DType::f32, {});
  Tensor y = Tensor::empty({4, 3}), rows = Tensor::empty({4});
  Batch empty = b, other_mean = b;
  empty.x = Tensor::empty({0, 3});
  CHECK_THROWS_AS(empty.statistics(), Error);
  other_mean.mean = rows;
  CHECK_THROWS_AS(other_mean.apply({}, y), Error);
  Epilogue gelu;
  gelu.activation = Activation::gelu;
  CHECK_ERROR(b.apply(gelu, y), "batch_norm_apply: activation gelu, expected none, relu or elu");
  CHECK_THROWS_AS(
      kernels::layer_norm(
          {.x = b.x, .gamma = b.gamma, .beta = b.beta, .eps = 1e-5, .mean = b.mean, .rstd = rows, .y = y}),
      Error);
}
