#include "../reference/plain.h"
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

RunningStatistics fresh(int64_t width, Device device, DType dtype = DType::f64) {
  return {Tensor::zeros({width}, dtype, device), Tensor::full({width}, 1.0, dtype, device), 0.1};
}

/// (x - mean) / √(variance + eps), as ops over Vars.
Var standardised(const Var& x, const Var& mean, const Var& variance, double eps) {
  return (x - mean) * inverse_sqrt(variance + eps);
}
Var variance_of(const Var& x, int dim) {
  const Var apart = x - mean(x, dim, true);
  return mean(apart * apart, dim, true);
}

}  // namespace

TEST_CASE("batch norm is its formula, in training with moving statistics, in evaluation with the kept ones") {
  on_devices(70, DType::f64, [&](Draw& draw, Device device) {
    const Var x = draw.uniform({37, 5}, 2.0, 9.0), gamma = draw.normal({5}), beta = draw.normal({5});
    RunningStatistics running = fresh(5, device);
    const Var y = batch_norm(x, gamma, beta, running, true, 1e-3), variance = variance_of(x, 0);
    CHECK(close(y.value(), (standardised(x, mean(x, 0), variance, 1e-3) * gamma + beta).value(), 1e-10));
    CHECK(close(running.mean, (mean(x, 0) * 0.1).value(), 1e-12));
    CHECK(close(running.variance, (reshape(variance, {5}) * (0.1 * 37 / 36) + 0.9).value(), 1e-12));

    const Tensor kept_mean = running.mean.clone(), kept = running.variance.clone();
    Generator generator(5);
    const NormEpilogue epilogue{Activation::relu, 0.5f};  // no dropout outside of training
    CHECK(close(batch_norm(x, gamma, beta, running, false, 1e-5, epilogue, generator).value(),
                relu(standardised(x, kept_mean, kept, 1e-5) * gamma + beta).value(), 1e-10));
    CHECK(generator.position() == 0);
    CHECK(same_bits(running.mean, kept_mean));
    CHECK(same_bits(running.variance, kept));
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

TEST_CASE("layer norm and row-wise L2 norm are their formulas") {
  on_devices(76, DType::f64, [&](Draw& draw, Device) {
    const Var x = draw.uniform({9, 5}, -1.0, 4.0), gamma = draw.normal({5}), beta = draw.normal({5});
    const Var normal = standardised(x, mean(x, 1, true), variance_of(x, 1), 1e-5);
    CHECK(close(layer_norm(x, gamma, beta).value(), (normal * gamma + beta).value(), 1e-11));
    CHECK(close(l2_normalize(x).value(), (x * inverse_sqrt(sum(x * x, 1, true))).value(), 1e-12));
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
