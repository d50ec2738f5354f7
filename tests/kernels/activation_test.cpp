#include "cases.h"
#include <adjoint/kernels/elementwise/activation.h>

using namespace adj;
using namespace adj::test;

namespace {

constexpr Activation kAll[] = {Activation::none, Activation::relu, Activation::leaky_relu, Activation::elu,
                               Activation::gelu};

constexpr double kSlope = 0.2f;

double expected_value(Activation activation, double x, double slope) {
  switch (activation) {
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::leaky_relu:
      return x < 0 ? slope * x : x;
    case Activation::elu:
      return x < 0 ? std::expm1(x) : x;
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    default:
      return x;
  }
}

}  // namespace

TEST_CASE("activations have names") {
  CHECK(name_of(Activation::none) == "none");
  CHECK(name_of(Activation::leaky_relu) == "leaky_relu");
  CHECK(name_of(Activation::gelu) == "gelu");
}

TEST_CASE("activate: values of every non-linearity, also in place") {
  on_devices_and_features([](Device device, DType dtype) {
    for (Activation activation : kAll)
      for (int64_t n : {0, 1, 37, 70001}) {
        CAPTURES(name_of(activation), n);
        const Tensor x = random_tensor({n}, dtype, device);
        const auto expected = [&](double v) { return expected_value(activation, v, kSlope); };
        check_also_in_place(x, mapped(x, expected), tolerance(dtype), [&](const Tensor& in, Tensor& y) {
          kernels::activate({.activation = activation, .slope = 0.2f, .x = in, .y = y});
        });
      }
  });
}

TEST_CASE("activate: large inputs, zero and NaN") {
  on_devices_and_features([](Device device, DType dtype) {
    const Numbers points{-1e30, -200, -90, -20, -6, -3, -1e-3, -1e-7, 0, 1e-7, 1e-3, 3, 6, 20, 90, 1e30};
    const Tensor x = Tensor::from(points).to(dtype).to(device);
    Tensor y = Tensor::empty_like(x);
    for (Activation activation : kAll) {
      CAPTURE(name_of(activation));
      kernels::activate({.activation = activation, .x = x, .y = y});
      const Numbers got = values(y), inputs = values(x);
      for (size_t i = 0; i < inputs.size(); ++i) {
        CAPTURE(inputs[i]);
        const double expected = expected_value(activation, inputs[i], static_cast<double>(0.01f));
        // Relative: small values and the lower tail are as accurate as large ones.
        CHECK(std::abs(got[i] - expected) <= 2 * tolerance(dtype) * std::abs(expected) + 1e-12);
      }
      Tensor odd = Tensor::full({3}, NAN, dtype, device);
      kernels::activate({.activation = activation, .x = odd, .y = odd});
      CHECK(std::isnan(values(odd)[1]));
      Tensor large = Tensor::full({1}, INFINITY, dtype, device);
      kernels::activate({.activation = activation, .x = large, .y = large});
      CHECK(values(large)[0] == INFINITY);
    }
  });
}

TEST_CASE("activate_backward: derivatives by differences") {
  on_devices_and_features([](Device device, DType dtype) {
    for (Activation activation : kAll) {
      CAPTURE(name_of(activation));
      const auto off_zero = [](double v) { return v + std::copysign(1e-3, v); };
      const Tensor x = tensor_of(mapped(random_tensor({3, 401}), off_zero), {3, 401}, dtype, device),
                   dy = random_tensor({3, 401}, dtype, device);
      const double h = 1e-6;
      const auto gradient = [&](double dy_value, double v) {
        return dy_value *
               (expected_value(activation, v + h, kSlope) - expected_value(activation, v - h, kSlope)) /
               (2 * h);
      };
      check_also_in_place(dy, zipped(values(dy), values(x), gradient),
                          dtype == DType::f64 ? 1e-8 : 2 * tolerance(dtype),
                          [&](const Tensor& upstream, Tensor& dx) {
                            kernels::activate_backward(
                                {.activation = activation, .slope = 0.2f, .x = x, .dy = upstream, .dx = dx});
                          });
    }
  });
}

TEST_CASE("activate refuses other shapes and dtypes") {
  const Tensor x = random_tensor({4, 3});
  Tensor other = Tensor::empty({3, 4}), ints = Tensor::empty({4, 3}, DType::i32);
  CHECK_ERROR(kernels::activate({.activation = Activation::relu, .slope = 0, .x = x, .y = other}),
              "activate: y is [3, 4] float32 on cpu, expected [4, 3] float32 on cpu");
  CHECK_THROWS_AS(kernels::activate({.activation = Activation::relu, .slope = 0, .x = ints, .y = ints}),
                  Error);
  CHECK_THROWS_AS(kernels::activate({.activation = Activation::relu, .slope = 0, .x = Tensor(), .y = other}),
                  Error);
}
