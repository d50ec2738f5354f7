#include "../op_table.h"
#include "cases.h"
#include <adjoint/kernels/elementwise/unary.h>

using namespace adj;
using namespace adj::test;

namespace {

constexpr Activation kAll[] = {Activation::none, Activation::relu, Activation::leaky_relu, Activation::elu,
                               Activation::gelu};

}  // namespace

TEST_CASE("activations have names") {
  CHECK(name_of(Activation::none) == "none");
  CHECK(name_of(Activation::leaky_relu) == "leaky_relu");
  CHECK(name_of(Activation::gelu) == "gelu");
}

TEST_CASE("activate and its gradient, by the table of ops") { hold(ops::activations()); }

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
        const double expected = ops::activated(activation, inputs[i], static_cast<double>(0.01f));
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

TEST_CASE("relu by signs has the bits of activate, forward and backward") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const int64_t n : {0, 1, 7, 8, 9, 31, 64, 1003, 70001})
      for (const int64_t offset : {0, 1}) {
        CAPTURES(n, offset);
        const Tensor x = at_offset(offset, random_tensor({n}, dtype, device)),
                     dy = at_offset(offset, random_tensor({n}, dtype, device));
        Tensor y = Tensor::full({n}, 9.0, dtype, device), expected = Tensor::empty_like(y),
               dx = Tensor::empty_like(y), expected_dx = Tensor::empty_like(y),
               positive = Tensor::full({(n + 7) / 8}, 255.0, DType::u8, device);
        kernels::relu({.x = x, .y = y, .positive = positive});
        kernels::activate({.activation = Activation::relu, .x = x, .y = expected});
        CHECK(same_bits(y, expected));
        kernels::relu_backward({.positive = positive, .dy = dy, .dx = dx});
        kernels::activate_backward({.activation = Activation::relu, .x = y, .dy = dy, .dx = expected_dx});
        CHECK(same_bits(dx, expected_dx));
        const std::vector<uint8_t> bytes = positive.to_vector<uint8_t>();
        const Numbers inputs = values(x);
        for (size_t k = 0; k < inputs.size(); ++k)
          CHECK((bytes[k / 8] >> k % 8 & 1) == (inputs[k] > 0 ? 1 : 0));
        Tensor over = x.clone();
        kernels::relu({.x = over, .y = over, .positive = positive});
        CHECK(same_bits(over, expected));
      }
    Tensor odd = Tensor::from(Numbers{NAN, 1.0, -0.0}).to(dtype).to(device),
           positive = Tensor::empty({1}, DType::u8, device);
    kernels::relu({.x = odd, .y = odd, .positive = positive});
    CHECK(std::isnan(values(odd)[0]));
    CHECK(positive.to_vector<uint8_t>()[0] == 2);
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
