#include "../op_table.h"
#include "cases.h"
#include <adjoint/kernels/elementwise/elementwise.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("binary and expand, by the table of ops") { hold(ops::broadcasts()); }

TEST_CASE("binary rejects mismatched arguments, naming both shapes") {
  const Tensor a = random_tensor({2, 3}), b = random_tensor({3, 2});
  Tensor y = Tensor::empty({2, 3});
  CHECK_ERROR(kernels::binary({.op = Binary::add, .a = a, .b = b, .y = y}),
              "binary: shapes [2, 3] and [3, 2] do not fit: expected equal extents, or 1, from the last "
              "dimension on");
  CHECK_THROWS_AS(kernels::binary({.op = Binary::add, .a = a, .b = random_tensor({3}, DType::f64), .y = y}),
                  Error);
  CHECK_THROWS_AS(kernels::binary({.op = Binary::add, .a = random_tensor({3}), .b = a.rows(0, 1), .y = y}),
                  Error);
  CHECK_THROWS_AS(kernels::expand({.x = random_tensor({2, 3, 1}), .y = y}), Error);
}
