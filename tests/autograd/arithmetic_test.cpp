#include "../reference/plain.h"
#include <adjoint/autograd/arithmetic.h>

using namespace adj;
using namespace adj::test;

namespace {

const std::vector<Shape> kShapes{{}, {7}, {5, 3}, {2, 3, 4}, {0, 3}};

template <class F>
std::vector<double> combined(const Tensor& a, const Tensor& b, F&& f) {
  std::vector<double> x = values(a);
  const std::vector<double> y = values(b);
  for (size_t i = 0; i < x.size(); ++i) x[i] = f(x[i], y[i]);
  return x;
}

}  // namespace

TEST_CASE("element-wise arithmetic equals plain loops") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64})
      for (const Shape& shape : kShapes) {
        CAPTURE(device.str());
        CAPTURE(shape.str());
        Draw draw(10, device, dtype);
        const Tensor a = draw.normal(shape), b = draw.normal(shape);
        const double tolerance = dtype == DType::f64 ? 1e-14 : 1e-6;
        CHECK(close((Var(a) + Var(b)).value(), combined(a, b, [](double x, double y) { return x + y; }),
                    tolerance));
        CHECK(close((Var(a) - Var(b)).value(), combined(a, b, [](double x, double y) { return x - y; }),
                    tolerance));
        CHECK(close((Var(a) * Var(b)).value(), combined(a, b, [](double x, double y) { return x * y; }),
                    tolerance));
        CHECK(close((Var(a) * 2.5).value(), combined(a, b, [](double x, double) { return 2.5 * x; }),
                    tolerance));
        CHECK(close((-0.5 * Var(a)).value(), combined(a, b, [](double x, double) { return -0.5 * x; }),
                    tolerance));
      }
}

TEST_CASE("add_bias equals plain loops") {
  for (Device device : devices()) {
    Draw draw(11, device, DType::f32);
    const Tensor x = draw.normal({9, 5}), bias = draw.normal({5});
    CHECK(close(add_bias(x, bias).value(), plus_row(Dense(x), bias).data, 1e-6));
  }
}

TEST_CASE("gradients of element-wise arithmetic") {
  for (Device device : devices())
    for (const Shape& shape : {Shape{}, Shape{5, 3}, Shape{2, 3, 2}}) {
      CAPTURE(device.str());
      CAPTURE(shape.str());
      Draw draw(12, device);
      const std::vector<Tensor> ab{draw.normal(shape), draw.normal(shape)};
      check([](const auto& v) { return v[0] + v[1]; }, ab);
      check([](const auto& v) { return v[0] - v[1]; }, ab);
      check([](const auto& v) { return v[0] * v[1]; }, ab);
      check([](const auto& v) { return v[0] * -1.5; }, ab);
      check([](const auto& v) { return (v[0] - v[1]) * (v[0] + 2.0 * v[1]) * v[0]; }, ab);
    }
}

TEST_CASE("gradients of one variable used as both operands") {
  for (Device device : devices()) {
    Draw draw(13, device);
    const std::vector<Tensor> a{draw.normal({3, 4})};
    check([](const auto& v) { return v[0] + v[0]; }, a);
    check([](const auto& v) { return v[0] - v[0]; }, a);
    check([](const auto& v) { return v[0] * v[0]; }, a);
  }
}

TEST_CASE("gradients where one operand is a constant") {
  for (Device device : devices()) {
    Draw draw(14, device);
    const Tensor a = draw.normal({3, 4}), constant = draw.normal({3, 4});
    check([&](const auto& v) { return v[0] - Var(constant); }, {a});
    check([&](const auto& v) { return Var(constant) - v[0]; }, {a});
    check([&](const auto& v) { return v[0] * Var(constant); }, {a});
    check([&](const auto& v) { return Var(constant) * v[0]; }, {a});
  }
}

TEST_CASE("gradients of add_bias") {
  for (Device device : devices()) {
    Draw draw(15, device);
    check([](const auto& v) { return add_bias(v[0], v[1]); }, {draw.normal({5, 3}), draw.normal({3})});
    check([](const auto& v) { return add_bias(v[0], v[1]); }, {draw.normal({1, 7}), draw.normal({7})});
  }
}

TEST_CASE("element-wise arithmetic refuses shapes that differ, naming both") {
  const Var a = Tensor::zeros({2, 3}), b = Tensor::zeros({3, 2});
  for (const std::string& message : {error_of([&] { add(a, b); }), error_of([&] { multiply(a, b); })}) {
    CHECK(mentions(message, "[2, 3]"));
    CHECK(mentions(message, "[3, 2]"));
  }
  CHECK(mentions(error_of([&] { add_bias(a, Tensor::zeros({2})); }), "[2]"));
  CHECK_THROWS_AS(add(a, Tensor::zeros({2, 3}, DType::f64)), Error);
}
