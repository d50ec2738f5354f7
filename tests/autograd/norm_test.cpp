#include "../reference/plain.h"
#include <adjoint/autograd/norm.h>

using namespace adj;
using namespace adj::test;

namespace {

RunningStatistics fresh(int64_t width, Device device, DType dtype = DType::f64) {
  return {Tensor::zeros({width}, dtype, device), Tensor::full({width}, 1.0, dtype, device), 0.1};
}

struct Moments {
  double mean = 0.0, variance = 0.0;  // biased
};

Moments moments(const Dense& x, int64_t j) {
  Moments m;
  for (int64_t i = 0; i < x.rows; ++i) m.mean += x(i, j) / static_cast<double>(x.rows);
  for (int64_t i = 0; i < x.rows; ++i)
    m.variance += std::pow(x(i, j) - m.mean, 2) / static_cast<double>(x.rows);
  return m;
}

}  // namespace

TEST_CASE("batch norm equals plain loops and moves the running statistics") {
  for (const Shape& shape : {Shape{37, 5}, Shape{2, 3}, Shape{1000, 33}})
    on_devices(70, DType::f64, [&](Draw& draw, Device device) {
      CAPTURE(shape.str());
      const int64_t width = shape[1];
      const Tensor x = draw.uniform(shape, 2.0, 9.0), gamma = draw.normal({width}),
                   beta = draw.normal({width});
      RunningStatistics running = fresh(width, device);
      const Dense y(batch_norm(x, gamma, beta, running, true, 1e-3).value());
      const Dense d(x);
      const auto g = values(gamma), b = values(beta), mean = values(running.mean),
                 variance = values(running.variance);
      double worst = 0.0;
      for (int64_t j = 0; j < width; ++j) {
        const auto column = uz(j);
        const Moments m = moments(d, j);
        const double n = static_cast<double>(d.rows);
        CHECK(mean[column] == doctest::Approx(0.1 * m.mean).epsilon(1e-10));
        CHECK(variance[column] == doctest::Approx(0.9 + 0.1 * m.variance * n / (n - 1.0)).epsilon(1e-10));
        for (int64_t i = 0; i < d.rows; ++i)
          worst = std::max(
              worst, std::abs(y(i, j) -
                              ((d(i, j) - m.mean) / std::sqrt(m.variance + 1e-3) * g[column] + b[column])));
      }
      CHECK(worst < 1e-10);
    });
}

TEST_CASE("batch norm in evaluation mode uses the running statistics without changing them") {
  on_devices(71, DType::f64, [&](Draw& draw, Device) {
    const Tensor x = draw.normal({6, 3}), gamma = draw.normal({3}), beta = draw.normal({3});
    RunningStatistics running{draw.normal({3}), draw.uniform({3}, 0.5, 2.0), 0.1};
    const Tensor mean = running.mean.clone(), variance = running.variance.clone();
    Generator generator(5);
    const NormEpilogue epilogue{Activation::relu, 0.5f};  // no dropout outside of training
    const Dense y(batch_norm(x, gamma, beta, running, false, 1e-5, epilogue, generator).value());
    CHECK(generator.position() == 0);
    CHECK(same_bits(running.mean, mean));
    CHECK(same_bits(running.variance, variance));
    const Dense d(x);
    const auto g = values(gamma), b = values(beta), m = values(mean), v = values(variance);
    for (int64_t i = 0; i < 6; ++i)
      for (int64_t j = 0; j < 3; ++j) {
        const auto column = uz(j);
        const double z = (d(i, j) - m[column]) / std::sqrt(v[column] + 1e-5) * g[column] + b[column];
        CHECK(y(i, j) == doctest::Approx(relu_of(z)).epsilon(1e-10));
      }
  });
}

TEST_CASE("batch norm of one row is refused in training and computed in evaluation") {
  on_devices(72, DType::f64, [&](Draw& draw, Device device) {
    const Tensor x = draw.normal({1, 4}), beta = draw.normal({4}),
                 ones = Tensor::full({4}, 1.0, DType::f64, device);
    RunningStatistics running = fresh(4, device);
    const Tensor before = running.mean.clone();
    const std::string message = error_of([&] { batch_norm(x, ones, beta, running, true); });
    CHECK(mentions(message, "batch_norm: input [1, 4]"));
    CHECK(mentions(message, "two rows or more"));
    CHECK(same_bits(running.mean, before));
    Numbers expected = values(x);
    for (size_t i = 0; i < 4; ++i) expected[i] += values(beta)[i];
    CHECK(close(batch_norm(x, ones, beta, running, false, 0.0).value(), expected, 1e-12));
  });
}

TEST_CASE("gradients of batch norm and its epilogues, in training and evaluation mode") {
  for (bool training : {true, false})
    for (const NormEpilogue& epilogue :
         {NormEpilogue{}, NormEpilogue{Activation::relu, 0.0f}, NormEpilogue{Activation::none, 0.4f},
          NormEpilogue{Activation::relu, 0.4f}, NormEpilogue{Activation::elu, 0.4f},
          NormEpilogue{Activation::elu, 0.0f}})
      for (const Shape& shape : {Shape{9, 4}, Shape{3, 1}, Shape{1, 3}})
        on_devices(training ? 73 : 75, DType::f64, [&](Draw& draw, Device device) {
          if (training && shape[0] == 1) return;
          CAPTURES(training, name_of(epilogue.activation), epilogue.dropout, shape.str());
          const int64_t width = shape[1];
          RunningStatistics running = fresh(width, device);
          if (!training) running = {draw.normal({width}), draw.uniform({width}, 0.5, 2.0), 0.1};
          check({draw.normal(shape), draw.off_zero({width}), draw.off_zero({width})}, [&](const auto& v) {
            Generator generator(99);
            return batch_norm(v[0], v[1], v[2], running, training, 1e-5, epilogue, generator);
          });
        });
}

TEST_CASE("batch norm with an epilogue equals norm, relu and dropout in sequence") {
  on_devices(74, DType::f32, [&](Draw& draw, Device device) {
    const Tensor x = draw.normal({500, 20}), gamma = draw.normal({20}), beta = draw.normal({20});
    const auto run = [&](const NormEpilogue& epilogue) {
      RunningStatistics running = fresh(20, device, DType::f32);
      Generator generator(7);
      return Dense(batch_norm(x, gamma, beta, running, true, 1e-5, epilogue, generator).value());
    };
    const Dense plain = run({}), dropped = run({Activation::relu, 0.25f});
    int64_t kept = 0;
    for (size_t e = 0; e < plain.data.size(); ++e) {
      if (plain.data[e] <= 0.0) CHECK(dropped.data[e] == 0.0);
      if (plain.data[e] <= 0.0 || dropped.data[e] == 0.0) continue;
      CHECK(dropped.data[e] == doctest::Approx(plain.data[e] / 0.75).epsilon(1e-5));
      ++kept;
    }
    const auto positive =
        std::count_if(plain.data.begin(), plain.data.end(), [](double v) { return v > 0.0; });
    CHECK(static_cast<double>(kept) / static_cast<double>(positive) == doctest::Approx(0.75).epsilon(0.03));
  });
}

TEST_CASE("batch norm of no rows has gradients of zeros in evaluation mode") {
  for (Device device : devices()) {
    RunningStatistics running = fresh(3, device);
    const Var gamma = Var::parameter(Tensor::full({3}, 1.0, DType::f64, device));
    const Var y = batch_norm(Tensor::empty({0, 3}, DType::f64, device), gamma,
                             Tensor::zeros({3}, DType::f64, device), running, false);
    y.backward(Tensor::empty({0, 3}, DType::f64, device));
    CHECK(close(gamma.grad(), Numbers(3, 0.0), 0.0));
  }
}

TEST_CASE("layer norm and row-wise L2 norm equal plain loops") {
  for (const Shape& shape : {Shape{9, 5}, Shape{1, 64}, Shape{301, 33}, Shape{0, 4}})
    on_devices(76, DType::f64, [&](Draw& draw, Device) {
      CAPTURE(shape.str());
      const Tensor x = draw.uniform(shape, -1.0, 4.0), gamma = draw.normal({shape[1]}),
                   beta = draw.normal({shape[1]});
      const Dense d(x), across = transposed(d);
      Dense normed = d, unit = d;
      const auto g = values(gamma), b = values(beta);
      for (int64_t i = 0; i < d.rows; ++i) {
        const Moments m = moments(across, i);
        double square = 0.0;
        for (int64_t j = 0; j < d.cols; ++j) square += d(i, j) * d(i, j);
        for (int64_t j = 0; j < d.cols; ++j) {
          const auto column = uz(j);
          normed(i, j) = (d(i, j) - m.mean) / std::sqrt(m.variance + 1e-5) * g[column] + b[column];
          unit(i, j) = d(i, j) / std::sqrt(square);
        }
      }
      CHECK(close(layer_norm(x, gamma, beta).value(), normed.data, 1e-11));
      CHECK(close(l2_normalize(x).value(), unit.data, 1e-12));
      const auto single = [](const Tensor& t) { return t.to(DType::f32); };
      CHECK(close(layer_norm(single(x), single(gamma), single(beta)).value(), normed.data, 1e-5));
      CHECK(close(l2_normalize(single(x)).value(), unit.data, 1e-6));
    });
}

TEST_CASE("gradients of layer norm and row-wise L2 norm") {
  for (const Shape& shape : {Shape{5, 4}, Shape{1, 7}, Shape{3, 2}})
    on_devices(77, DType::f64, [&](Draw& draw, Device) {
      CAPTURE(shape.str());
      const Tensor x = draw.normal(shape), gamma = draw.normal({shape[1]}), beta = draw.normal({shape[1]});
      check([](const auto& v) { return layer_norm(v[0], v[1], v[2]); }, {x, gamma, beta});
      check([](const auto& v) { return l2_normalize(v[0]); }, {x});
      check([](const auto& v) { return l2_normalize(v[0], 100.0); }, {x});  // all rows are shorter
    });
}

TEST_CASE("rows of zeros stay zeros under the L2 norm, with a finite gradient") {
  for (Device device : devices()) {
    const Var x = Var::parameter(Tensor::zeros({2, 3}, DType::f64, device));
    const Var y = l2_normalize(x);
    CHECK(close(y.value(), Numbers(6, 0.0), 0.0));
    y.backward(Tensor::full({2, 3}, 1.0, DType::f64, device));
    for (double v : values(x.grad())) CHECK(std::isfinite(v));
  }
}

TEST_CASE("norms reject mismatched arguments") {
  RunningStatistics running = fresh(3, {}, DType::f32);
  const Var x = Tensor::zeros({4, 3}), three = Tensor::zeros({3}), two = Tensor::zeros({2});
  CHECK_ERROR_HAS(batch_norm(x, two, two, running, true), "[2]");
  CHECK_THROWS_AS(batch_norm(Tensor::zeros({0, 3}), three, three, running, true), Error);
  CHECK_THROWS_AS(layer_norm(x, two, two), Error);
  CHECK_THROWS_AS(layer_norm(Tensor::zeros({3}), three, three), Error);
  CHECK_THROWS_AS(l2_normalize(Tensor::zeros({3})), Error);
}
