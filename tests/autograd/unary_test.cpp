#include "../reference/plain.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/unary.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("unary functions equal the library's, of any shape, and have their gradients") {
  const struct {
    Var (*f)(const Var&);
    double (*plain)(double);
  } functions[] = {{exp, std::exp},
                   {log, std::log},
                   {sqrt, std::sqrt},
                   {sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }},
                   {tanh, std::tanh},
                   {reciprocal, [](double v) { return 1 / v; }},
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
    });
}
