#include "../reference/plain.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/unary.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("unary functions equal the library's, of any shape") {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{5, 3}, Shape{2, 3, 4}, Shape{0, 3}})
    on_devices(20, DType::f64, [&](Draw& draw, Device) {
      CAPTURE(shape.str());
      const Tensor x = draw.uniform(shape, 0.1, 3.0);
      const auto held = [&](const Var& y, double (*f)(double)) {
        Numbers expected = values(x);
        for (double& v : expected) v = f(v);
        CHECK(y.shape() == shape);
        CHECK(close(y.value(), expected, 1e-14));
      };
      held(exp(Var(x)), [](double v) { return std::exp(v); });
      held(log(Var(x)), [](double v) { return std::log(v); });
      held(sqrt(Var(x)), [](double v) { return std::sqrt(v); });
      held(sigmoid(x), [](double v) { return 1 / (1 + std::exp(-v)); });
      held(tanh(Var(x)), [](double v) { return std::tanh(v); });
      held(reciprocal(x), [](double v) { return 1 / v; });
      held(inverse_sqrt(x), [](double v) { return 1 / std::sqrt(v); });
    });
}

TEST_CASE("gradients of unary functions") {
  for (const Shape& shape : {Shape{}, Shape{5, 3}, Shape{2, 3, 2}})
    on_devices(21, DType::f64, [&](Draw& draw, Device) {
      CAPTURE(shape.str());
      const std::vector<Tensor> x{draw.off_zero(shape)}, positive{draw.uniform(shape, 0.3, 3.0)};
      check([](const auto& v) { return exp(v[0]); }, x);
      check([](const auto& v) { return log(v[0]); }, positive);
      check([](const auto& v) { return sqrt(v[0]); }, positive);
      check([](const auto& v) { return sigmoid(v[0]); }, x);
      check([](const auto& v) { return tanh(v[0]); }, x);
      check([](const auto& v) { return reciprocal(v[0]); }, {draw.uniform(shape, 0.5, 2.0)});
      check([](const auto& v) { return inverse_sqrt(v[0]); }, positive);
      check([](const auto& v) { return log(1.0 + exp(-v[0])) * tanh(v[0]) / sqrt(v[0] * v[0] + 1.0); }, x);
    });
}
