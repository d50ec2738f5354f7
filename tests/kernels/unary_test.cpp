#include "cases.h"
#include <adjoint/kernels/elementwise/unary.h>

using namespace adj;
using namespace adj::test;

namespace {

struct Function {
  Unary unary;
  double (*value)(double x);
  double (*slope)(double x, double y);
};
const Function kAll[] = {
    {Unary::exp, std::exp, [](double, double y) { return y; }},
    {Unary::log, std::log, [](double x, double) { return 1 / x; }},
    {Unary::sqrt, std::sqrt, [](double, double y) { return 0.5 / y; }},
    {Unary::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); },
     [](double, double y) { return y * (1 - y); }},
    {Unary::tanh, std::tanh, [](double, double y) { return 1 - y * y; }},
    {Unary::reciprocal, [](double x) { return 1 / x; }, [](double x, double) { return -1 / (x * x); }},
    {Unary::inverse_sqrt, [](double x) { return 1 / std::sqrt(x); },
     [](double x, double) { return -0.5 / (x * std::sqrt(x)); }}};

Tensor computed(Unary u, const Tensor& x) {
  Tensor y = Tensor::empty_like(x);
  kernels::unary({.function = u, .x = x, .y = y});
  return y;
}

double relative(DType dtype) { return dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 1e-6 : 0.004; }

}  // namespace

TEST_CASE("unary functions and their derivatives equal the standard library's in relative error") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [u, function, slope] : kAll)
      for (int64_t n : {0, 1, 20011}) {
        CAPTURES(static_cast<int>(u), n);
        // Both signs and several sizes where the function is defined there.
        const bool positive = u == Unary::log || u == Unary::sqrt || u == Unary::inverse_sqrt;
        const Tensor x = random_tensor({n}, DType::f64).to(Device::cpu());
        Numbers in = values(x);
        for (size_t i = 0; i < in.size(); ++i) in[i] = (positive ? std::abs(in[i]) : in[i]) * (i % 7 + 0.01);
        const Tensor stored = tensor_of(in, {n}, dtype, device);
        in = values(stored);
        const Tensor y = computed(u, stored);
        const Numbers out = values(y);
        for (size_t i = 0; i < in.size(); ++i) {
          CAPTURE(in[i]);
          // log's result is near 0 at 1: relative to the argument's rounding there.
          const double expected = function(in[i]);
          REQUIRE(std::abs(out[i] - expected) <=
                  relative(dtype) * std::max(std::abs(expected), u == Unary::log ? 0.5 : 0.0));
        }

        const Tensor dy = random_tensor({n}, dtype, device);
        Tensor dx = Tensor::empty_like(dy), in_place = dy.clone();
        const Tensor saved = saves_input(u) ? stored : y;
        kernels::unary_backward({.function = u, .saved = saved, .dy = dy, .dx = dx});
        const Numbers d = values(dy), got = values(dx);
        for (size_t i = 0; i < in.size(); ++i) {
          CAPTURE(in[i]);
          // A derivative computed from the rounded output inherits its rounding.
          const double expected = d[i] * slope(in[i], function(in[i]));
          REQUIRE(std::abs(got[i] - expected) <=
                  4 * relative(dtype) * std::max(std::abs(expected), std::abs(d[i])));
        }
        kernels::unary_backward({.function = u, .saved = saved, .dy = in_place, .dx = in_place});
        CHECK(same_bits(in_place, dx));
      }
  });
}

TEST_CASE("unary functions at special values") {
  on_devices_and_floats([](Device device, DType dtype) {
    const auto result_of = [&](Unary u, Numbers x) {
      return values(computed(u, Tensor::from(x).to(dtype).to(device)));
    };
    CHECK(result_of(Unary::exp, {-INFINITY, 0, INFINITY, 1000, -1000}) ==
          Numbers{0, 1, INFINITY, INFINITY, 0});
    CHECK(result_of(Unary::exp, {88.5})[0] == doctest::Approx(std::exp(88.5)).epsilon(1e-5));
    CHECK(result_of(Unary::log, {0, INFINITY, 1}) == Numbers{-INFINITY, INFINITY, 0});
    CHECK(result_of(Unary::log, {0x1p-140})[0] == doctest::Approx(-140 * std::log(2.0)).epsilon(1e-6));
    CHECK(std::isnan(result_of(Unary::log, {-1})[0]));
    CHECK(result_of(Unary::sqrt, {0, 4, INFINITY}) == Numbers{0, 2, INFINITY});
    CHECK(std::isnan(result_of(Unary::sqrt, {-1})[0]));
    const auto squashed = result_of(Unary::sigmoid, {-INFINITY, -100, 0, 100, INFINITY});
    CHECK(squashed[0] == 0.0);
    CHECK(squashed[1] == doctest::Approx(0.0).epsilon(1e-30));
    CHECK(squashed[2] == 0.5);
    CHECK(squashed[3] == 1.0);
    CHECK(squashed[4] == 1.0);
    CHECK(result_of(Unary::tanh, {-INFINITY, -100, 0, 100, INFINITY}) == Numbers{-1, -1, 0, 1, 1});
    CHECK(result_of(Unary::tanh, {1e-6})[0] == doctest::Approx(1e-6).epsilon(1e-6));
    CHECK(result_of(Unary::reciprocal, {0, INFINITY, -INFINITY}) == Numbers{INFINITY, 0, 0});
    CHECK(result_of(Unary::inverse_sqrt, {0, 4, INFINITY, -2}) == Numbers{0, 0.5, 0, 0});
    for (const Function& f : kAll) CHECK(std::isnan(result_of(f.unary, {NAN})[0]));
  });
}

TEST_CASE("affine") {
  on_devices_and_features([](Device device, DType dtype) {
    const Tensor x = random_tensor({1003}, dtype, device);
    check_also_in_place(x, mapped(x, [](double v) { return 0.25 - 1.5 * v; }), tolerance(dtype),
                        [](const Tensor& in, Tensor& y) {
                          kernels::affine({.scale = -1.5, .shift = 0.25, .x = in, .y = y});
                        });
  });
}

TEST_CASE("unary kernels reject mismatched arguments") {
  const Tensor x = random_tensor({4});
  Tensor y = Tensor::empty({3}), whole = Tensor::empty({4}, DType::i32);
  CHECK_THROWS_AS(kernels::unary({.function = Unary::exp, .x = x, .y = y}), Error);
  CHECK_THROWS_AS(kernels::unary({.function = Unary::exp, .x = whole, .y = whole}), Error);
  CHECK_THROWS_AS(kernels::affine({.x = x, .y = y}), Error);
}
