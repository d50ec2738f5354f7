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

namespace {

/// x in consecutive parts of about as many rows, and an empty one.
std::vector<Tensor> parts_of(const Tensor& x, int64_t count) {
  std::vector<Tensor> parts;
  for (int64_t p = 0; p < count; ++p)
    parts.push_back(x.rows(p * x.size(0) / count, (p + 1) * x.size(0) / count).clone());
  if (count < 64) parts.push_back(x.rows(0, 0).clone());
  return parts;
}

}  // namespace

TEST_CASE("gather_parts: the rows of a matrix, whatever its parts") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::bf16, DType::u8})
      for (int64_t columns : {0, 1, 3, 47, 100, 128, 602})
        for (int64_t rows : {0, 5, 211}) {
          CAPTURES(name_of(dtype), columns);
          const Tensor x = random_ints(rows * columns, 0, 200).to(dtype).reshape({rows, columns});
          const Tensor index = random_ints(rows == 0 ? 0 : 500, 0, static_cast<int32_t>(rows));
          const Numbers numbers = values(x);
          Numbers expected;
          for (const int32_t row : index.to_vector<int32_t>())
            for (int64_t c = 0; c < columns; ++c) expected.push_back(numbers[uz(row * columns + c)]);
          for (int64_t count : {1, 2, 3, 8, 64}) {
            Tensor y = Tensor::full({index.numel(), columns}, 201, dtype, device);
            kernels::gather_parts(
                {.parts = parts_of(x.to(device), count), .index = index.to(device), .y = y});
            CHECK(values(y) == expected);
          }
        }
}

TEST_CASE("gather_parts names what does not fit") {
  const Tensor x = random_tensor({5, 2});
  Tensor y = Tensor::empty({2, 2});
  const auto gather = [&](const std::vector<Tensor>& parts, std::vector<int32_t> index) {
    kernels::gather_parts({.parts = parts, .index = Tensor::from(index), .y = y});
  };
  CHECK_NOTHROW(gather(parts_of(x, 3), {4, 0}));
  CHECK_ERROR(gather(parts_of(x, 3), {0, 5}), "gather_parts: index[1] is 5, expected [0, 5)");
  CHECK_ERROR(gather(parts_of(x, 3), {-1, 0}), "gather_parts: index[0] is -1, expected [0, 5)");
  CHECK_ERROR(gather({}, {0, 0}), "gather_parts: 0 parts, expected 1 to 64");
  CHECK_ERROR(gather(std::vector(65, x), {0, 0}), "gather_parts: 65 parts, expected 1 to 64");
  CHECK_ERROR(gather({x, random_tensor({5, 3})}, {0, 0}),
              "gather_parts: a part is [5, 3] float32 on cpu, expected [*, 2] float32 on cpu");
  CHECK_THROWS_AS(gather({x, x.to(DType::bf16)}, {0, 0}), Error);
  CHECK_THROWS_AS(gather({x}, {0}), Error);
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
