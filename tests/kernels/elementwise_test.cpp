#include "cases.h"
#include <adjoint/kernels/elementwise/elementwise.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("linear_combination: with and without b, in place") {
  on_devices_and_features([](Device device, DType dtype) {
    for (int64_t n : {0, 1, 15, 100003}) {
      const Tensor a = random_tensor({n}, dtype, device), b = random_tensor({n}, dtype, device);
      const auto combined = [](double u, double v) { return 1.5 * u - 0.25 * v; };
      check_also_in_place(
          b, zipped(values(a), values(b), combined), tolerance(dtype), [&](const Tensor& other, Tensor& y) {
            kernels::linear_combination({.alpha = 1.5, .a = a, .beta = -0.25, .b = other, .y = y});
          });
      Tensor y = Tensor::empty_like(a);
      kernels::linear_combination({.alpha = 3.0, .a = a, .beta = 7.0, .y = y});
      CHECK(close(y, mapped(a, [](double v) { return 3.0 * v; }), tolerance(dtype)));
    }
  });
}

TEST_CASE("multiply, multiply_scalar") {
  on_devices_and_features([](Device device, DType dtype) {
    for (int64_t n : {0, 1, 33, 66000}) {
      const Tensor a = random_tensor({n, 1}, dtype, device), b = random_tensor({n, 1}, dtype, device);
      Tensor y = Tensor::empty_like(a);
      kernels::multiply({.a = a, .b = b, .y = y});
      CHECK(close(y, zipped(values(a), values(b), std::multiplies()), tolerance(dtype)));
      const Tensor s = Tensor::full({}, -2.5, accumulator_dtype(dtype), device);
      check_also_in_place(
          a, mapped(a, [](double v) { return -2.5 * v; }), tolerance(dtype),
          [&](const Tensor& in, Tensor& out) { kernels::multiply_scalar({.a = in, .s = s, .y = out}); });
    }
  });
}

TEST_CASE("add_bias and scale_rows: narrow, odd, wide and empty") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{0, 5},
                                        {4, 0},
                                        {1, 1},
                                        {1000, 1},
                                        {333, 7},
                                        {257, 16},
                                        {31, 63},
                                        {17, 64},
                                        {5, 65},
                                        {900, 257}}) {
      CAPTURES(rows, columns);
      const Tensor x = random_tensor({rows, columns}, dtype, device);
      const Tensor bias = random_tensor({columns}, dtype, device), s = random_tensor({rows}, dtype, device);
      Numbers scaled = values(x);
      const Numbers factor = values(s);
      for (size_t k = 0; k < scaled.size(); ++k) scaled[k] *= factor[k / uz(columns)];
      check_also_in_place(
          x, zipped(values(x), values(bias), std::plus()), tolerance(dtype),
          [&](const Tensor& in, Tensor& y) { kernels::add_bias({.x = in, .bias = bias, .y = y}); });
      check_also_in_place(x, scaled, tolerance(dtype), [&](const Tensor& in, Tensor& y) {
        kernels::scale_rows({.x = in, .s = s, .y = y});
      });
    }
  });
}

TEST_CASE("permute moves elements of any dtype") {
  for (Device device : devices()) {
    std::vector<int32_t> order(1001);
    for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int32_t>(k * 10 % order.size());
    const Tensor index = Tensor::from(order, device);
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64, DType::u8}) {
      const Tensor x = random_ints(1001, 0, 200).to(dtype).to(device);
      Tensor y = Tensor::empty_like(x);
      kernels::permute({.x = x, .order = index, .y = y});
      const Numbers in = values(x), out = values(y);
      for (size_t k = 0; k < out.size(); ++k) REQUIRE(out[k] == in[uz(order[k])]);
    }
  }
}

TEST_CASE("element-wise kernels reject mismatched arguments") {
  const Tensor x = random_tensor({4, 3});
  Tensor y = Tensor::empty({4, 3});
  CHECK_THROWS_AS(kernels::multiply({.a = x, .b = random_tensor({4, 2}), .y = y}), Error);
  CHECK_THROWS_AS(kernels::multiply({.a = x, .b = random_tensor({4, 3}, DType::f64), .y = y}), Error);
  CHECK_ERROR(kernels::add_bias({.x = x, .bias = random_tensor({4}), .y = y}),
              "add_bias: bias is [4] float32 on cpu, expected [3] float32 on cpu");
  CHECK_THROWS_AS(kernels::scale_rows({.x = x, .s = random_tensor({3}), .y = y}), Error);
  CHECK_THROWS_AS(kernels::multiply_scalar({.a = x, .s = random_tensor({2}), .y = y}), Error);
  Tensor half = Tensor::empty({4, 3}, DType::bf16);
  CHECK_ERROR(kernels::multiply_scalar({.a = half, .s = Tensor::full({}, 1.0, DType::bf16), .y = half}),
              "multiply_scalar: s is [] bfloat16 on cpu, expected one float32 on cpu");
  Tensor z = Tensor::empty({2});
  CHECK_THROWS_AS(kernels::permute({.x = random_tensor({5}), .order = random_ints(3, 0, 5), .y = z}), Error);
}
