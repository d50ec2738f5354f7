#include "../op_table.h"
#include "cases.h"
#include <adjoint/kernels/elementwise/dropout.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("dropout and its gradient, by the table of ops") { hold(ops::dropouts()); }

TEST_CASE("dropout: a dropped NaN or infinity is 0; the share and the mean are kept") {
  for (Device device : devices()) {
    const Tensor odd = Tensor::full({1000}, NAN, DType::f32, device);
    Tensor y = Tensor::empty_like(odd);
    kernels::dropout({.x = odd, .key = {1, 2, nullptr}, .rule = dropout_rule(0.5f), .y = y});
    int64_t zeros = 0;
    for (double v : values(y)) zeros += v == 0.0;
    CHECK(zeros > 400);
    CHECK(zeros < 600);

    const Tensor ones = Tensor::full({1000000}, 1.0, DType::f32, device);
    Tensor z = Tensor::empty_like(ones);
    for (float p : {0.1f, 0.5f, 0.8f}) {
      kernels::dropout({.x = ones, .key = {3, 4, nullptr}, .rule = dropout_rule(p), .y = z});
      double kept = 0.0, sum = 0.0;
      for (double v : values(z)) kept += v != 0.0, sum += v;
      const double share = 1.0 - static_cast<double>(p);
      CHECK(std::abs(kept / 1e6 - share) < 5 * std::sqrt(share * (1 - share) / 1e6) + 1e-5);
      CHECK(std::abs(sum / 1e6 - 1.0) < 5 * std::sqrt((1 - share) / share / 1e6));
    }
  }
}

TEST_CASE("dropout: streams count from the base of a captured step") {
  const Tensor x = random_tensor({300});
  Tensor y = Tensor::empty_like(x), z = Tensor::empty_like(x);
  const uint64_t base = 41;
  kernels::dropout({.x = x, .key = {9, 1, &base}, .rule = dropout_rule(0.5f), .y = y});
  kernels::dropout({.x = x, .key = {9, 42, nullptr}, .rule = dropout_rule(0.5f), .y = z});
  CHECK(same_bits(y, z));
  kernels::dropout({.x = x, .key = {9, 43, nullptr}, .rule = dropout_rule(0.5f), .y = z});
  CHECK(!same_bits(y, z));
}

TEST_CASE("dropout refuses other shapes, and thresholds beyond sixteen bits") {
  for (Device device : devices())
    for (Activation activation : {Activation::none, Activation::elu}) {
      const Tensor x = random_tensor({4, 2}, DType::f32, device);
      Tensor y = Tensor::empty_like(x), other = Tensor::empty({2, 4}, DType::f32, device);
      const auto drop = [&](uint32_t threshold, Tensor& output) {
        kernels::dropout({.activation = activation,
                          .x = x,
                          .key = {1, 2, nullptr},
                          .rule = {threshold, 1.0f},
                          .y = output});
      };
      CHECK_NOTHROW(drop(65535, y));
      CHECK_ERROR(drop(65536, y), "dropout: threshold 65536, expected less than 65536");
      CHECK_THROWS_AS(drop(1, other), Error);
    }
}
