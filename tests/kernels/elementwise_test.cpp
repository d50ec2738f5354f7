#include "../op_table.h"
#include "cases.h"
#include <adjoint/kernels/elementwise/elementwise.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("element-wise kernels, by the table of ops") { hold(ops::elementwise()); }

TEST_CASE("element-wise kernels reject mismatched arguments") {
  const Tensor x = random_tensor({4, 3});
  Tensor y = Tensor::empty({4, 3});
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
