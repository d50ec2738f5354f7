#include "norm_calls.h"

using namespace adj;
using namespace adj::test;
using kernels::Epilogue;

namespace {

constexpr std::pair<int64_t, int64_t> kShapes[] = {{1, 1},  {2, 3},   {1, 100},   {2708, 16}, {1001, 7},
                                                   {9, 64}, {50, 65}, {700, 257}, {0, 5}};

std::vector<Epilogue> epilogues() {
  std::vector<Epilogue> list;
  for (Activation activation : {Activation::none, Activation::relu, Activation::elu})
    for (bool dropout : {false, true})
      list.push_back({activation, dropout, DropoutRule::of(0.4f), {11, 12, nullptr}});
  return list;
}

/// The mean of a column and its sum of squared deviations.
std::pair<double, double> moments(const Numbers& x, int64_t column, int64_t columns) {
  double mean = 0.0, squares = 0.0;
  const double rows = static_cast<double>(x.size()) / static_cast<double>(columns);
  for (size_t i = uz(column); i < x.size(); i += uz(columns)) mean += x[i] / rows;
  for (size_t i = uz(column); i < x.size(); i += uz(columns)) squares += std::pow(x[i] - mean, 2);
  return {mean, squares};
}

Numbers mask_of(const Epilogue& e, size_t n) {
  return dropout_mask(n, e.key, e.dropout ? e.rule : DropoutRule());
}

}  // namespace

TEST_CASE("batch_norm_statistics: mean, deviation, running averages") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, columns] : kShapes) {
      if (rows == 0) continue;
      CAPTURES(rows, columns);
      Batch b = random_batch(rows, columns, dtype, device);
      b.statistics(b.running_mean, b.running_var);
      const Numbers x = values(b.x);
      Numbers mean, rstd, running_mean, running_var;
      const auto n = static_cast<double>(rows);
      for (int64_t f = 0; f < columns; ++f) {
        const auto [m, squares] = moments(x, f, columns);
        mean.push_back(m);
        rstd.push_back(1 / std::sqrt(squares / n + 1e-5));
        running_mean.push_back(0.9 * 0.5 + 0.1 * m);
        running_var.push_back(0.9 * 2.0 + 0.1 * squares / std::max(n - 1, 1.0));
      }
      CHECK(close(b.mean, mean, tolerance(b.mean.dtype())));
      CHECK(close(b.rstd, rstd, tolerance(b.rstd.dtype())));
      CHECK(close(b.running_mean, running_mean, tolerance(b.mean.dtype())));
      CHECK(close(b.running_var, running_var, tolerance(b.mean.dtype())));
      b.statistics();
      CHECK(close(b.mean, mean, tolerance(b.mean.dtype())));
    }
  });
}

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

TEST_CASE("batch_norm_apply with every epilogue, also in place") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, columns] : kShapes)
      for (const Epilogue& epilogue : epilogues()) {
        CAPTURES(rows, columns);
        Batch b = random_batch(rows, columns, dtype, device);
        b.draw_statistics();
        Numbers expected = values(b.x);
        const Numbers mask = mask_of(epilogue, expected.size());
        const auto mean = values(b.mean), rstd = values(b.rstd), gamma = values(b.gamma),
                   beta = values(b.beta);
        for (size_t i = 0; i < expected.size(); ++i) {
          const size_t f = i % uz(columns);
          double z = (expected[i] - mean[f]) * rstd[f] * gamma[f] + beta[f];
          if (epilogue.activation == Activation::relu) z = std::max(z, 0.0);
          if (epilogue.activation == Activation::elu) z = z > 0.0 ? z : std::expm1(z);
          expected[i] = z * mask[i];
        }
        check_also_in_place(b.x, expected, tolerance(dtype), [&](const Tensor& x, Tensor& y) {
          b.x = x;
          b.apply(epilogue, y);
        });
      }
  });
}

TEST_CASE("batch_norm_backward against plain sums, also in place") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, columns] : kShapes)
      for (const Epilogue& epilogue : epilogues()) {
        if (rows == 0) continue;
        CAPTURES(rows, columns);
        Batch b = random_batch(rows, columns, dtype, device);
        b.draw_statistics();
        const Tensor dy = random_tensor({rows, columns}, dtype, device);
        const NormGradients found = b.backward(epilogue, dy, Tensor::empty_like(dy));
        const auto width = uz(columns);
        const auto x = values(b.x), mean = values(b.mean), rstd = values(b.rstd), gamma = values(b.gamma),
                   beta = values(b.beta);
        Numbers g = values(dy), normal(g.size()), sum(width), product(width);
        const Numbers mask = mask_of(epilogue, g.size());
        for (size_t i = 0; i < g.size(); ++i) {
          const size_t f = i % width;
          normal[i] = (x[i] - mean[f]) * rstd[f];
          // Random numbers avoid relu's kink, where rounding would decide.
          const double z = normal[i] * gamma[f] + beta[f];
          if (epilogue.activation == Activation::relu && z <= 0.0) g[i] = 0;
          if (epilogue.activation == Activation::elu && z <= 0.0) g[i] *= std::exp(z);
          g[i] *= mask[i];
          sum[f] += g[i];
          product[f] += g[i] * normal[i];
        }
        const auto n = static_cast<double>(rows);
        for (size_t i = 0; i < g.size(); ++i) {
          const size_t f = i % width;
          g[i] = gamma[f] * rstd[f] * (g[i] - sum[f] / n - normal[i] * product[f] / n);
        }
        found.check(g, product, sum, tolerance(dtype));
        CHECK(same_bits(b.backward(epilogue, dy, dy).dx, found.dx));
      }
  });
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
    b.backward({Activation::relu, false, {}, {}}, dy, Tensor::empty_like(dy), false)
        .check({0, 0, 1, 0, 0, 0}, {2, 0}, {1, 0}, 0.0);
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

TEST_CASE("batch_norm gives the same bits on any number of threads") {
  Batch b = random_batch(20011, 20, DType::f32, {});
  const Epilogue epilogue = epilogues().back();
  CHECK(same_bits_on_any_threads([&] {
    b.statistics();
    return b.rstd.clone();
  }));
  CHECK(same_bits_on_any_threads([&] { return b.backward(epilogue, b.x, Tensor::empty_like(b.x)).dx; }));
}

TEST_CASE("layer_norm equals plain loops") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, columns] : kShapes) {
      CAPTURES(rows, columns);
      LayerNorm norm(rows, columns, dtype, device);
      norm.draw_beta();
      const Tensor y = norm.forward(1e-3);
      const Numbers in = values(norm.x), g = values(norm.gamma), b = values(norm.beta);
      Numbers expected(in.size());
      const size_t width = uz(columns);
      const auto n = static_cast<double>(columns);
      for (size_t i = 0; i < in.size(); i += width) {
        double m = 0.0, v = 0.0;
        for (size_t f = 0; f < width; ++f) m += in[i + f] / n;
        for (size_t f = 0; f < width; ++f) v += std::pow(in[i + f] - m, 2) / n;
        for (size_t f = 0; f < width; ++f)
          expected[i + f] = (in[i + f] - m) / std::sqrt(v + 1e-3) * g[f] + b[f];
      }
      CHECK(close(y, expected, 2 * tolerance(dtype)));
    }
  });
}

TEST_CASE("layer_norm_backward and l2_normalize_rows_backward against plain loops, also in place") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, columns] : kShapes) {
      CAPTURES(rows, columns);
      const LayerNorm norm(rows, columns, dtype, device);
      const Tensor dy = random_tensor({rows, columns}, dtype, device);
      const NormGradients found = norm.backward(dy, Tensor::empty_like(dy));
      const size_t width = uz(columns);
      const auto in = values(norm.x), g = values(norm.gamma), m = values(norm.mean), r = values(norm.rstd),
                 d = values(dy);
      Numbers by_x(in.size()), by_unit(in.size()), by_gamma(width), by_beta(width);
      for (size_t i = 0; i < uz(rows); ++i) {
        double direct = 0.0, along = 0.0, projected = 0.0;
        const auto normal = [&](size_t f) { return (in[i * width + f] - m[i]) * r[i]; };
        for (size_t f = 0; f < width; ++f) {
          const double grad = d[i * width + f];
          direct += grad * g[f] / static_cast<double>(columns);
          along += grad * g[f] * normal(f) / static_cast<double>(columns);
          projected += grad * in[i * width + f];
          by_gamma[f] += grad * normal(f);
          by_beta[f] += grad;
        }
        for (size_t f = 0; f < width; ++f) {
          by_x[i * width + f] = r[i] * (d[i * width + f] * g[f] - direct - normal(f) * along);
          by_unit[i * width + f] = r[i] * (d[i * width + f] - projected * in[i * width + f]);
        }
      }
      found.check(by_x, by_gamma, by_beta, tolerance(dtype));
      check_also_in_place(dy, by_unit, tolerance(dtype), [&](const Tensor& upstream, Tensor& dx) {
        kernels::l2_normalize_rows_backward({.y = norm.x, .scale = norm.rstd, .dy = upstream, .dx = dx});
      });
      CHECK(same_bits(norm.backward(dy, dy).dx, found.dx));
    }
  });
}

TEST_CASE("layer_norm_backward sums dgamma and dbeta over many rows, in the same order on any threads") {
  for (Device device : devices()) {
    const int64_t rows = 5003, columns = 33;
    LayerNorm norm(rows, columns, DType::f32, device);
    norm.mean.zero_();
    norm.rstd.fill_(1.0);
    const Tensor dy = random_tensor({rows, columns}, DType::f32, device);
    const auto gradients = [&] { return norm.backward(dy, Tensor::empty_like(dy)); };
    Numbers by_gamma(33), by_beta(33);
    const Numbers in = values(norm.x), grad = values(dy);
    for (size_t i = 0; i < in.size(); ++i) by_gamma[i % 33] += in[i] * grad[i], by_beta[i % 33] += grad[i];
    CHECK(close(gradients().dgamma, by_gamma, 2e-6));
    CHECK(close(gradients().dbeta, by_beta, 2e-6));
    CHECK(same_bits_on_any_threads([&] { return gradients().dgamma; }));
  }
}

TEST_CASE("l2_normalize_rows and sum_normalize_rows equal plain loops") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, columns] : kShapes) {
      CAPTURES(rows, columns);
      Tensor x = random_tensor({rows, columns}, dtype, device), y = Tensor::empty_like(x);
      if (rows > 1) x.rows(1, 2).zero_();
      Tensor scale = Tensor::empty({rows}, accumulator_dtype(dtype), device);
      kernels::l2_normalize_rows({.x = x, .eps = 1e-12, .scale = scale, .y = y});
      Numbers unit = values(x), share = unit;
      const auto width = uz(columns);
      for (size_t i = 0; i < uz(rows); ++i) {
        double squares = 0.0, sum = 0.0;
        for (size_t f = 0; f < width; ++f)
          squares += std::pow(unit[i * width + f], 2), sum += unit[i * width + f];
        for (size_t f = 0; f < width; ++f) unit[i * width + f] /= std::max(std::sqrt(squares), 1e-12);
        if (std::abs(sum) < 0.05) continue;  // cancelled: the quotient is only rounding
        for (size_t f = 0; f < width; ++f) share[i * width + f] /= sum;
      }
      CHECK(close(y, unit, tolerance(dtype)));
      kernels::sum_normalize_rows({.x = x, .y = y});
      const Numbers in = values(x), got = values(y);
      for (size_t k = 0; k < got.size(); ++k)
        if (share[k] != in[k])
          REQUIRE(std::abs(got[k] - share[k]) <
                  (dtype == DType::bf16 ? 1 : 100) * tolerance(dtype) * std::max(1.0, std::abs(share[k])));
      if (rows > 1) CHECK(values(y.rows(1, 2)) == Numbers(width));
      kernels::sum_normalize_rows({.x = x, .y = x});
      CHECK(same_bits(x, y));
    }
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
