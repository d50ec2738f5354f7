#include "../op_table.h"
#include "cases.h"
#include <adjoint/kernels/reduce/reduce.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("sum_dim, max_dim and its gradient, by the table of ops") {
  hold(ops::reductions_over_dimension());
}

TEST_CASE("in max_dim the first NaN wins, and infinities are compared") {
  on_devices_and_floats([](Device device, DType dtype) {
    const Numbers rows{1,        NAN, 5,        NAN, -INFINITY, -INFINITY, -INFINITY, -INFINITY,
                       INFINITY, 2,   INFINITY, NAN, -1,        -2,        -3,        -1};
    const std::vector<int32_t> expected{1, 0, 3, 0};
    const Tensor x = tensor_of(rows, {4, 4}, dtype, device);
    Tensor y = Tensor::empty({4, 1}, dtype, device), winner = Tensor::empty({4, 1}, DType::i32, device);
    kernels::max_dim({.x = x.reshape({4, 4, 1}), .y = y, .winner = winner});
    CHECK(winner.to_vector<int32_t>() == expected);
    CHECK(std::isnan(values(y)[0]));
    CHECK(values(y)[1] == -INFINITY);
    // The same down the columns, in several chunks: with 300 losing rows before and after.
    Numbers tall(4 * 604, -INFINITY);
    for (size_t i = 0; i < 4; ++i)
      for (size_t k = 0; k < 4; ++k) tall[(300 + k) * 4 + i] = rows[i * 4 + k];
    Tensor columns = Tensor::empty({1, 4}, dtype, device),
           column_winner = Tensor::empty({1, 4}, DType::i32, device);
    kernels::max_dim(
        {.x = tensor_of(tall, {1, 604, 4}, dtype, device), .y = columns, .winner = column_winner});
    CHECK(column_winner.to_vector<int32_t>() == std::vector<int32_t>{301, 0, 303, 300});
  });
}

TEST_CASE("in max_dim the first NaN among many elements wins, wherever larger numbers are") {
  on_devices_and_floats([](Device device, DType dtype) {
    constexpr int64_t kRows = 100'000;
    Numbers numbers(uz(3 * kRows), -1.0);
    const auto element = [&](int64_t row, int64_t column) -> double& {
      return numbers[uz(3 * row + column)];
    };
    element(10, 0) = element(70'000, 0) = 7.0;
    element(60'000, 0) = element(90'000, 0) = NAN;
    element(99'999, 1) = element(50'000, 1) = 2.0;
    element(5, 2) = element(99'999, 2) = NAN;
    element(40'000, 2) = 3.0;
    Tensor y = Tensor::empty({1, 3}, dtype, device), winner = Tensor::empty({1, 3}, DType::i32, device);
    kernels::max_dim({.x = tensor_of(numbers, {1, kRows, 3}, dtype, device), .y = y, .winner = winner});
    CHECK(winner.to_vector<int32_t>() == std::vector<int32_t>{60'000, 50'000, 5});
    CHECK(std::isnan(values(y)[0]));
    CHECK(values(y)[1] == 2.0);
    CHECK(std::isnan(values(y)[2]));
  });
}

TEST_CASE("reductions over a dimension reject mismatched arguments") {
  Tensor y = Tensor::empty({2, 3}), winner = Tensor::empty({2, 3}, DType::i32);
  CHECK_THROWS_AS(kernels::sum_dim({.x = random_tensor({2, 3}), .y = y}), Error);
  CHECK_THROWS_AS(kernels::sum_dim({.x = random_tensor({2, 3, 4}), .y = y}), Error);
  CHECK_THROWS_AS(kernels::max_dim({.x = Tensor::empty({2, 0, 3}), .y = y, .winner = winner}), Error);
  CHECK_THROWS_AS(kernels::max_dim({.x = random_tensor({2, 5, 3}), .y = y, .winner = y}), Error);
}
