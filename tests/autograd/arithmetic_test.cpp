#include "../reference/plain.h"
#include <adjoint/autograd/arithmetic.h>

#include <tuple>

using namespace adj;
using namespace adj::test;

TEST_CASE("element-wise arithmetic broadcasts, and its gradients are summed") {
  // Result, left, right: scalars, rows, columns, an outer product, stretched middles, nothing at all.
  std::vector<std::tuple<Shape, Shape, Shape>> cases{
      {{9, 5}, {9, 5}, {}},           {{9, 5}, {}, {9, 5}},
      {{9, 5}, {9, 5}, {1, 1}},       {{9, 5}, {9, 5}, {5}},
      {{9, 5}, {1, 5}, {9, 5}},       {{9, 5}, {9, 5}, {9, 1}},
      {{9, 5}, {9, 1}, {9, 5}},       {{9, 5}, {9, 1}, {5}},
      {{2, 3, 4}, {2, 3, 4}, {3, 1}}, {{2, 3, 4}, {2, 1, 4}, {3, 1}},
      {{2, 1, 4}, {2, 1, 1}, {4}},    {{2, 3, 2, 5}, {2, 1, 2, 1}, {3, 1, 5}},
      {{1, 5}, {5}, {1, 1}},          {{1}, {}, {1}},
      {{0, 3}, {0, 3}, {3}},          {{0, 3}, {3}, {0, 1}},
      {{3, 0}, {3, 0}, {3, 1}},       {{3, 0}, {}, {3, 0}}};
  for (const Shape& same : {Shape{}, Shape{7}, Shape{5, 3}, Shape{2, 3, 4}, Shape{0, 3}})
    cases.emplace_back(same, same, same);
  for (const auto& [result, left, right] : cases)
    on_devices(11, DType::f64, [&](Draw& draw, Device device) {
      CAPTURES(left.str(), right.str());
      const Tensor a = draw.normal(left), b = draw.off_zero(right);
      // Values of both in the shape of the result.
      const Var zeros = Tensor::zeros(result, DType::f64, device), x = a, y = b, wide = x + zeros,
                other = y + zeros;
      CHECK(close((x + y).value(), (wide + other).value(), 1e-14));
      CHECK(close((x - y).value(), (wide - other).value(), 1e-14));
      CHECK(close((x * y).value(), (wide * other).value(), 1e-14));
      CHECK(close((x / y).value(), (wide / other).value(), 1e-14));
      check([](const auto& v) { return v[0] + v[1]; }, {a, b});
      check([](const auto& v) { return v[0] - v[1]; }, {a, b});
      check([](const auto& v) { return v[0] * v[1]; }, {a, b});
      check([](const auto& v) { return v[0] / v[1]; }, {a, b});
    });
}

TEST_CASE("operands keep their order") {
  for (Device device : devices()) {
    const Var column = Tensor::from<double>({4, 9}, {2, 1}, device),
              row = Tensor::from<double>({2, 8}, device);
    CHECK(close((column + row).value(), Numbers{6, 12, 11, 17}, 0.0));
    CHECK(close((column - row).value(), Numbers{2, -4, 7, 1}, 0.0));
    CHECK(close((column * row).value(), Numbers{8, 32, 18, 72}, 0.0));
    CHECK(close((column / row).value(), Numbers{2, 0.5, 4.5, 1.125}, 0.0));
    CHECK(close((row / column).value(), Numbers{0.5, 2, 2.0 / 9, 8.0 / 9}, 1e-15));
  }
}

TEST_CASE("scalars may be on either side") {
  on_devices(16, DType::f64, [&](Draw& draw, Device) {
    const Tensor a = draw.off_zero({4, 3});
    const auto held = [&](const auto& op) {
      CHECK(close(op(Var(a)).value(), mapped(Dense(a), op).data, 1e-14));
      check([&](const auto& v) { return op(v[0]); }, {a});
    };
    held([](const auto& x) { return x + 2.5; });
    held([](const auto& x) { return 2.5 + x; });
    held([](const auto& x) { return x - 2.5; });
    held([](const auto& x) { return 2.5 - x; });
    held([](const auto& x) { return x * 2.5; });
    held([](const auto& x) { return x / 2.5; });
    held([](const auto& x) { return 2.5 / x; });
    held([](const auto& x) { return -x; });
  });
}

TEST_CASE("division follows IEEE 754") {
  for (Device device : devices()) {
    const auto list = [&](std::vector<float> v) { return Var(Tensor::from(v, device)); };
    const auto y = values((list({1, -1, 0, INFINITY, 1}) / list({0, 0, 0, INFINITY, INFINITY})).value());
    CHECK(y[0] == INFINITY);
    CHECK(y[1] == -INFINITY);
    CHECK(std::isnan(y[2]));
    CHECK(std::isnan(y[3]));
    CHECK(y[4] == 0.0);
  }
}

TEST_CASE("gradients of element-wise arithmetic") {
  for (const Shape& shape : {Shape{}, Shape{5, 3}, Shape{2, 3, 2}})
    on_devices(12, DType::f64, [&](Draw& draw, Device) {
      CAPTURE(shape.str());
      const std::vector<Tensor> ab{draw.normal(shape), draw.normal(shape)};
      check([](const auto& v) { return v[0] * -1.5; }, ab);
      check([](const auto& v) { return linear_combination(0.7, v[0], -2.0, v[1]); }, ab);
      check([](const auto& v) { return (v[0] - v[1]) * (v[0] + 2.0 * v[1]) * v[0]; }, ab);
    });
}

TEST_CASE("gradients if both operands are one variable, or one is a constant") {
  on_devices(13, DType::f64, [&](Draw& draw, Device) {
    const Tensor a = draw.normal({3, 4}), constant = draw.normal({3, 4});
    check([](const auto& v) { return v[0] + v[0]; }, {a});
    check([](const auto& v) { return v[0] - v[0]; }, {a});
    check([](const auto& v) { return v[0] * v[0]; }, {a});
    check([&](const auto& v) { return v[0] - Var(constant); }, {a});
    check([&](const auto& v) { return Var(constant) - v[0]; }, {a});
    check([&](const auto& v) { return v[0] * Var(constant); }, {a});
    check([&](const auto& v) { return Var(constant) * v[0]; }, {a});
  });
}

TEST_CASE("cast rounds, and its gradient is of the input's dtype") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const Var x = Var::parameter(Draw(17, device, DType::f32).normal({5, 3}));
      const Var y = cast(x, dtype);
      CHECK(same_bits(y.value(), x.value().to(dtype)));
      y.backward(Tensor::full({5, 3}, 0.5, dtype, device));
      CHECK(same_bits(x.grad(), Tensor::full({5, 3}, 0.5, DType::f32, device)));
    }
  CHECK_THROWS_AS(cast(Tensor::zeros({2}), DType::i32), Error);
}

TEST_CASE("element-wise arithmetic refuses shapes that differ, naming both") {
  const Var a = Tensor::zeros({2, 3}), b = Tensor::zeros({3, 2});
  for (const std::string& message : {error_of([&] { a + b; }), error_of([&] { a - b; }),
                                     error_of([&] { a* b; }), error_of([&] { a / b; })}) {
    CHECK(mentions(message, "[2, 3]"));
    CHECK(mentions(message, "[3, 2]"));
  }
  CHECK_ERROR_HAS(a + Var(Tensor::zeros({2})), "[2]");
  CHECK_THROWS_AS(add(a, Tensor::zeros({2, 3}, DType::f64)), Error);
  CHECK_ERROR_HAS(linear_combination(1.0, a, 2.0, b), "[3, 2]");
}
