#include "../reference/plain.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/unary.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("unary functions equal the library's, of any shape, and have their gradients") {
  const struct {
    Var (*f)(const Var&);
    double (*plain)(double);
  } functions[] = {
      {exp, std::exp},
      {log, std::log},
      {sqrt, std::sqrt},
      {sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }},
      {tanh, std::tanh},
      {reciprocal, [](double v) { return 1 / v; }},
      {abs, std::abs},
      {sin, std::sin},
      {cos, std::cos},
      {[](const Var& v) { return pow(v, 2.5); }, [](double v) { return std::pow(v, 2.5); }},
      {[](const Var& v) { return clamp(v, 0.7, 2.0); }, [](double v) { return std::clamp(v, 0.7, 2.0); }},
      {inverse_sqrt, [](double v) { return 1 / std::sqrt(v); }}};
  for (const Shape& shape : {Shape{}, Shape{5, 3}, Shape{2, 3, 2}, Shape{0, 3}})
    on_devices(20, DType::f64, [&](Draw& draw, Device) {
      const Tensor x = draw.uniform(shape, 0.3, 3.0);
      for (const auto& function : functions) {
        CAPTURES(shape.str(), &function - functions);
        Numbers expected = values(x);
        for (double& v : expected) v = function.plain(v);
        CHECK(function.f(x).shape() == shape);
        CHECK(close(function.f(x).value(), expected, 1e-14));
        check([&](const auto& v) { return function.f(v[0]); }, {x});
      }
      check([](const auto& v) { return log(1.0 + exp(-v[0])) * tanh(v[0]) / sqrt(v[0] * v[0] + 1.0); },
            {draw.off_zero(shape)});
      check([](const auto& v) { return abs(v[0]) + pow(v[0], 3.0) + pow(v[0], -1.0) + pow(v[0], 0.0); },
            {draw.off_zero(shape)});
    });
}

TEST_CASE("bounds, signs and whole powers") {
  on_devices(21, DType::f32, [](Draw&, Device device) {
    Var x = Var::parameter(Tensor::from(std::vector{-2.0f, -0.0f, 0.0f, 1.0f, 3.0f, NAN}).to(device));
    const auto gradient_of = [&](const Var& y) {
      x.zero_grad();
      y.backward(Tensor::full(y.shape(), 1.0, y.dtype(), device));
      return values(x.grad());
    };
    const auto first = [](Numbers numbers) { return Numbers(numbers.begin(), numbers.begin() + 5); };
    CHECK(first(values(clamp(x, -0.0, 1.0).value())) == Numbers{0, 0, 0, 1, 1});
    CHECK(std::isnan(values(clamp(x, 0, 1).value()).back()));
    CHECK(first(gradient_of(clamp(x, 0.0, 1.0))) == Numbers{0, 1, 1, 1, 0});
    CHECK(first(gradient_of(abs(x))) == Numbers{-1, 0, 0, 1, 1});
    CHECK(first(values(pow(x, 2.0).value())) == Numbers{4, 0, 0, 1, 9});
    CHECK(first(gradient_of(pow(x, 2.0))) == Numbers{-4, 0, 0, 2, 6});
    CHECK(first(gradient_of(pow(x, 0.0))) == Numbers{0, 0, 0, 0, 0});
    CHECK(std::isnan(values(pow(x, 0.5).value()).front()));
  });
  CHECK_ERROR_HAS(clamp(Var(Tensor::zeros({2})), 1.0, 0.0),
                  "clamp: from 1 to 0, expected an ascending range");
}
