#include "../reference/plain.h"
#include <adjoint/autograd/gradient_check.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/ops.h>

using namespace adj;
using adj::test::Draw;
using adj::test::mentions;

namespace {

// y = 3 x, whose backward pass multiplies by `factor`.
Var triple(const Var& x, double factor) {
  Tensor y = Tensor::empty_like(x.value());
  kernels::linear_combination({.alpha = 3.0, .a = x.value(), .y = y});
  return record("triple", y, {x}, [factor](Tensor dy, Gradients& out) {
    Tensor dx = Tensor::empty_like(dy);
    kernels::linear_combination({.alpha = factor, .a = dy, .y = dx});
    out.add(0, dx);
  });
}

}  // namespace

TEST_CASE("the gradient checker passes right gradients") {
  Draw draw(1);
  const auto result = check_gradients([](const auto& v) { return triple(v[0], 3.0) * v[1]; },
                                      {draw.normal({3, 2}), draw.normal({3, 2})});
  CHECK(result.passed);
  CHECK(result.worst < 1e-7);
  CHECK(result.message.empty());
}

TEST_CASE("the gradient checker finds wrong gradients and says where") {
  Draw draw(2);
  const Tensor a = draw.normal({3, 2}), b = draw.normal({3, 2});
  SUBCASE("slightly wrong") {
    const auto result = check_gradients([](const auto& v) { return v[0] * triple(v[1], 3.001); }, {a, b});
    CHECK_FALSE(result.passed);
    CHECK(mentions(result.message, "input 1 [3, 2]"));
  }
  SUBCASE("not a number") {
    const auto undefined = check_gradients([=](const auto& v) { return triple(v[0], NAN); }, {a});
    CHECK_FALSE(undefined.passed);
    CHECK(std::isnan(undefined.worst));
    CHECK(undefined.message.find("element 0:") != std::string::npos);
  }
  SUBCASE("missing") {
    const auto f = [](const auto& v) { return add(v[0], v[1].detach()); };
    const auto result = check_gradients(f, {a, b});
    CHECK_FALSE(result.passed);
    CHECK(mentions(result.message, "input 1"));
  }
}

TEST_CASE("the gradient checker does not change its inputs and requires float64") {
  Draw draw(3);
  const Tensor a = draw.normal({4});
  const Tensor before = a.clone();
  CHECK(check_gradients([](const auto& v) { return v[0] * v[0]; }, {a}).passed);
  CHECK(test::same_bits(a, before));
  CHECK_THROWS_AS(check_gradients([](const auto& v) { return v[0]; }, {a.to(DType::f32)}), Error);
}
