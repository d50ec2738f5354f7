#include "../op_table.h"
#include "cases.h"
#include <adjoint/kernels/reduce/reduce.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("sums, argmax_columns and count_equal, by the table of ops") { hold(ops::reductions()); }

TEST_CASE("sums keep float32's precision over many rows") {
  for (Device device : devices()) {
    const Tensor x = Tensor::full({200000, 8}, 0.1, DType::f32, device);
    Tensor y = Tensor::empty({8}, DType::f32, device), s = Tensor::empty({}, DType::f32, device);
    kernels::sum_rows({.x = x, .y = y});
    CHECK(std::abs(values(y)[3] - 20000.0) < 0.02);
    kernels::sum_all({.x = x, .scale = 1.0, .y = s});
    CHECK(std::abs(s.item() - 160000.0) < 0.03);
  }
}

TEST_CASE("in argmax_columns a NaN never wins") {
  on_devices_and_features([](Device device, DType dtype) {
    const Numbers odd{NAN,       1, 2,        NAN, NAN, NAN,       -INFINITY, -INFINITY,
                      -INFINITY, 1, INFINITY, NAN, NAN, -INFINITY, NAN};
    const Tensor x = Tensor::from(odd, {5, 3}).to(dtype).to(device);
    Tensor y = Tensor::empty({5}, DType::i32, device);
    kernels::argmax_columns({.x = x, .y = y});
    CHECK(y.to_vector<int32_t>() == std::vector<int32_t>{2, 0, 0, 1, 1});
  });
}

TEST_CASE("reductions reject mismatched arguments") {
  const Tensor x = random_tensor({4, 3});
  Tensor y = Tensor::empty({4}), i = Tensor::empty({4}, DType::i32), none = Tensor::empty({4}, DType::i32);
  CHECK_THROWS_AS(kernels::sum_rows({.x = x, .y = y}), Error);
  CHECK_THROWS_AS(kernels::sum_rows({.x = random_tensor({4}), .y = y}), Error);
  CHECK_THROWS_AS(kernels::argmax_columns({.x = Tensor::empty({4, 0}), .y = none}), Error);
  CHECK_THROWS_AS(kernels::count_equal({.a = i, .b = i, .y = y}), Error);
  Tensor count = Tensor::empty({}, DType::i64);
  CHECK_THROWS_AS(kernels::count_equal({.a = i, .b = i, .index = Tensor::from<int32_t>({0, 4}), .y = count}),
                  Error);
}
