#include "../op_table.h"
#include "cases.h"
#include <adjoint/kernels/elementwise/unary.h>

using namespace adj;
using namespace adj::test;

namespace {

Tensor computed(Unary u, const Tensor& x) {
  Tensor y = Tensor::empty_like(x);
  kernels::unary({.function = u, .x = x, .y = y});
  return y;
}

}  // namespace

TEST_CASE("unary functions and their gradients, by the table of ops") { hold(ops::unary_functions()); }

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
    for (Unary u : {Unary::exp, Unary::log, Unary::sqrt, Unary::sigmoid, Unary::tanh, Unary::reciprocal,
                    Unary::inverse_sqrt})
      CHECK(std::isnan(result_of(u, {NAN})[0]));
  });
}

TEST_CASE("unary kernels reject mismatched arguments") {
  const Tensor x = random_tensor({4});
  Tensor y = Tensor::empty({3}), whole = Tensor::empty({4}, DType::i32);
  CHECK_THROWS_AS(kernels::unary({.function = Unary::exp, .x = x, .y = y}), Error);
  CHECK_THROWS_AS(kernels::unary({.function = Unary::exp, .x = whole, .y = whole}), Error);
  CHECK_THROWS_AS(kernels::affine({.x = x, .y = y}), Error);
}
