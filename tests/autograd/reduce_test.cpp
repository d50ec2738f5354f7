#include "../reference/plain.h"
#include <adjoint/autograd/reduce.h>

using namespace adj;
using namespace adj::test;

namespace {

double plain_sum(const Tensor& x) {
  double sum = 0.0;
  for (double v : values(x)) sum += v;
  return sum;
}

}  // namespace

TEST_CASE("sums and means equal plain loops") {
  for (Device device : devices())
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{5, 3}, Shape{1237, 17}, Shape{2, 3, 4}}) {
      CAPTURE(device.str());
      CAPTURE(shape.str());
      Draw draw(30, device);
      const Tensor x = draw.normal(shape);
      const double n = static_cast<double>(x.numel());
      CHECK(sum(x).value().shape() == Shape{});
      CHECK(sum(x).item() == doctest::Approx(plain_sum(x)).epsilon(1e-12));
      CHECK(mean(x).item() == doctest::Approx(plain_sum(x) / n).epsilon(1e-12));
      CHECK(sum(x.to(DType::f32)).item() == doctest::Approx(plain_sum(x)).epsilon(1e-5));
    }
  CHECK(sum(Tensor::zeros({0, 3})).item() == 0.0);
  CHECK_THROWS_AS(mean(Tensor::zeros({0, 3})), Error);
}

TEST_CASE("sums over rows and over columns equal plain loops") {
  for (Device device : devices())
    for (const Shape& shape : {Shape{5, 3}, Shape{1, 9}, Shape{1000, 33}, Shape{3, 1}, Shape{0, 4}}) {
      CAPTURE(device.str());
      CAPTURE(shape.str());
      Draw draw(31, device);
      const Tensor x = draw.normal(shape);
      const Dense d(x);
      std::vector<double> by_column(static_cast<size_t>(d.cols)), by_row(static_cast<size_t>(d.rows));
      for (int64_t i = 0; i < d.rows; ++i)
        for (int64_t j = 0; j < d.cols; ++j) {
          by_column[static_cast<size_t>(j)] += d(i, j);
          by_row[static_cast<size_t>(i)] += d(i, j);
        }
      CHECK(close(sum_rows(x).value(), by_column, 1e-12));
      CHECK(close(sum_columns(x).value(), by_row, 1e-12));
      CHECK(close(sum_rows(x.to(DType::f32)).value(), by_column, 1e-5));
      CHECK(close(sum_columns(x.to(DType::f32)).value(), by_row, 1e-5));
    }
}

TEST_CASE("gradients of reductions") {
  for (Device device : devices())
    for (const Shape& shape : {Shape{5, 3}, Shape{1, 7}, Shape{6, 1}}) {
      CAPTURE(device.str());
      CAPTURE(shape.str());
      Draw draw(32, device);
      const std::vector<Tensor> x{draw.normal(shape)};
      check([](const auto& v) { return sum(v[0]); }, x);
      check([](const auto& v) { return mean(v[0]); }, x);
      check([](const auto& v) { return sum_rows(v[0]); }, x);
      check([](const auto& v) { return sum_columns(v[0]); }, x);
    }
}

TEST_CASE("a sum in float32 has one gradient everywhere, of the input's type") {
  const Var x = Var::parameter(Tensor::zeros({4, 2}));
  mean(x).backward();
  CHECK(x.grad().dtype() == DType::f32);
  CHECK(close(x.grad(), std::vector<double>(8, 0.125), 1e-7));
}
