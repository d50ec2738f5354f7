#include "../op_table.h"
#include "cases.h"
#include <adjoint/kernels/index/gather.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("gather_rows, concat_columns, slice_columns and their inverses, by the table of ops") {
  hold(ops::gathers());
}

TEST_CASE("gather_rows: rows of bits") {
  for (Device device : devices()) {
    Tensor x = Tensor::empty({9, 200}, DType::bits);
    auto* bytes = static_cast<uint8_t*>(x.raw_mutable_data());
    for (size_t i = 0; i < x.bytes(); ++i) bytes[i] = static_cast<uint8_t>(5 * i);
    Tensor y = Tensor::empty({2, 200}, DType::bits, device);
    kernels::gather_rows({.x = x.to(device), .index = Tensor::from<int32_t>({7, 2}, device), .y = y});
    CHECK(same_bits(y.rows(0, 1), x.rows(7, 8)));
    CHECK(same_bits(y.rows(1, 2), x.rows(2, 3)));
  }
}

TEST_CASE("gather_rows names the index out of range") {
  const Tensor x = random_tensor({5, 2});
  Tensor y = Tensor::empty({3, 2});
  CHECK_ERROR(kernels::gather_rows({.x = x, .index = Tensor::from<int32_t>({0, 5, -1}), .y = y}),
              "gather_rows: index[1] is 5, expected [0, 5)");
  CHECK_THROWS_AS(kernels::gather_rows({.x = x, .index = Tensor::from<int32_t>({0, 1, -1}), .y = y}), Error);
  CHECK_THROWS_AS(kernels::gather_rows({.x = x, .index = Tensor::from<int32_t>({0, 1}), .y = y}), Error);
}

TEST_CASE("concat_columns refuses parts that do not fill y") {
  const std::vector<Tensor> parts{random_tensor({4, 3}), random_tensor({4, 2})};
  Tensor y = Tensor::empty({4, 6}), other = Tensor::empty({3, 5});
  CHECK_ERROR(kernels::concat_columns({.parts = parts, .y = y}),
              "concat_columns: the parts have 5 columns together, y is [4, 6] float32 on cpu");
  CHECK_THROWS_AS(kernels::concat_columns({.parts = parts, .y = other}), Error);
}

TEST_CASE("slices refuse columns out of range") {
  const Tensor x = random_tensor({4, 5});
  Tensor y = Tensor::empty({4, 3});
  CHECK_ERROR(kernels::slice_columns({.x = x, .begin = 3, .y = y}),
              "slice_columns: columns [3, 6) of [4, 5] float32 on cpu");
  CHECK_THROWS_AS(kernels::slice_columns({.x = x, .begin = -1, .y = y}), Error);
  CHECK_THROWS_AS(kernels::slice_columns({.x = x.rows(0, 3), .begin = 0, .y = y}), Error);
  Tensor other = Tensor::empty({4, 2});
  CHECK_THROWS_AS(kernels::pad_columns({.x = y, .begin = 0, .y = other}), Error);
}
