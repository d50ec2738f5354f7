#include <adjoint/kernels/cpu/vector_math.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <doctest/doctest.h>

using namespace adj::kernels::cpu;

namespace {

/// Worst |got - exact| / |exact| over [low, high], in units of 2^-24.
template <class F>
double worst(double low, double high, F got, double (*exact)(double)) {
  double largest = 0.0;
  constexpr int kPoints = 400000;
  for (int i = 0; i <= kPoints; ++i) {
    const auto x = static_cast<float>(low + (high - low) * i / kPoints);
    const double e = exact(static_cast<double>(x));
    if (e != 0.0) largest = std::max(largest, std::abs(static_cast<double>(got(x)) - e) / std::abs(e));
  }
  return largest * 0x1.0p24;
}

}  // namespace

TEST_CASE("fast_exp and fast_expm1 in float32") {
  const auto exp = [](float x) { return fast_exp(x); };
  const auto expm1 = [](float x) { return fast_expm1(x); };
  CHECK(worst(-87.3, 88, exp, std::exp) < 2.5);
  CHECK(worst(-1, 1, exp, std::exp) < 2.5);
  CHECK(worst(-2, 2, expm1, std::expm1) < 8);
  CHECK(fast_exp(0.0f) == 1.0f);
  CHECK(fast_exp(-100.0f) == 0.0f);
  CHECK(fast_exp(-INFINITY) == 0.0f);
  CHECK(std::isnan(fast_exp(NAN)));
}

TEST_CASE("fast_log and fast_log1p in float32") {
  const auto log = [](float x) { return fast_log(x); };
  CHECK(worst(1e-30, 1e-3, log, std::log) < 2.5);
  CHECK(worst(0.4, 3, log, std::log) < 2.5);
  CHECK(worst(3, 1e6, log, std::log) < 2.5);
  CHECK(worst(
            0, 1, [](float x) { return fast_log1p(x); }, std::log1p) < 3);
  CHECK(fast_log(1.0f) == 0.0f);
  CHECK(fast_log1p(0.0f) == 0.0f);
  CHECK(std::isnan(fast_log(NAN)));
}

TEST_CASE("fast_normal in float32: the lower tail too") {
  const auto cdf = [](float x) { return fast_normal(x).cdf; };
  const auto exact = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  CHECK(worst(-1, 9, cdf, exact) < 8);
  CHECK(worst(-5, -1, cdf, exact) < 20);
  CHECK(worst(
            -1, 1, [](float x) { return fast_normal(x).density; },
            [](double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * M_PI); }) < 4);
  CHECK(fast_normal(-INFINITY).cdf == 0.0f);
  CHECK(fast_normal(INFINITY).cdf == 1.0f);
}

TEST_CASE("any_exp, any_log and fast_tanh over all of float32") {
  const auto exp = [](float x) { return any_exp(x); };
  const auto log = [](float x) { return any_log(x); };
  const auto tanh = [](float x) { return fast_tanh(x); };
  CHECK(worst(-87, 88.7, exp, std::exp) < 4);
  CHECK(worst(0x1p-140, 0x1p-120, log, std::log) < 3);
  CHECK(worst(1.5, 1e30, log, std::log) < 3);
  CHECK(worst(-9, 9, tanh, std::tanh) < 6);
  CHECK(worst(-1e-3, 1e-3, tanh, std::tanh) < 6);
  CHECK(any_exp(89.0f) == INFINITY);
  CHECK(any_exp(INFINITY) == INFINITY);
  CHECK(any_log(0.0f) == -INFINITY);
  CHECK(any_log(INFINITY) == INFINITY);
  CHECK(std::isnan(any_log(-1.0f)));
  CHECK(fast_tanh(-INFINITY) == -1.0f);
  for (float y : {any_exp(NAN), any_log(NAN), fast_tanh(NAN)}) CHECK(std::isnan(y));
}
