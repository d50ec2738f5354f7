#include "cases.h"
#include <adjoint/kernels/reduce/reduce.h>

using namespace adj;
using namespace adj::test;

namespace {

constexpr std::pair<int64_t, int64_t> kShapes[] = {{0, 3},    {3, 0},     {1, 1},    {1, 100},
                                                   {2708, 7}, {513, 16},  {65, 63},  {300, 64},
                                                   {100, 65}, {700, 257}, {9000, 40}};

}  // namespace

TEST_CASE("sum_rows, sum_columns, sum_all") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, columns] : kShapes) {
      CAPTURES(rows, columns);
      const Tensor x = random_tensor({rows, columns}, dtype, device);
      const Numbers in = values(x);
      Numbers by_column(uz(columns)), by_row(uz(rows));
      double all = 0.0;
      for (size_t k = 0; k < in.size(); ++k) {
        by_column[k % uz(columns)] += in[k];
        by_row[k / uz(columns)] += in[k];
        all += in[k];
      }
      Tensor y = Tensor::empty({columns}, dtype, device), z = Tensor::empty({rows}, dtype, device);
      Tensor s = Tensor::empty({}, accumulator_dtype(dtype), device);
      kernels::sum_rows({.x = x, .y = y});
      CHECK(close(y, by_column, tolerance(dtype)));
      kernels::sum_columns({.x = x, .y = z});
      CHECK(close(z, by_row, tolerance(dtype)));
      kernels::sum_all({.x = x, .scale = 0.5, .y = s});
      CHECK(close(s, Numbers{0.5 * all}, tolerance(s.dtype())));
    }
  });
}

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

TEST_CASE("reductions give the same bits on any number of threads") {
  const Tensor x = random_tensor({70001, 7});
  CHECK(writes_same_bits_on_any_threads({7}, [&](Tensor& y) { kernels::sum_rows({.x = x, .y = y}); }));
  CHECK(writes_same_bits_on_any_threads(
      {1}, [&](Tensor& y) { kernels::sum_all({.x = x, .scale = 1.0, .y = y}); }));
}

TEST_CASE("argmax_columns: the largest, ties to the smallest column") {
  on_devices_and_features([](Device device, DType dtype) {
    for (int64_t columns : {1, 2, 7, 16, 40, 257}) {
      CAPTURE(columns);
      // Few distinct values: many ties.
      const Tensor x = random_ints(3000 * columns, -2, 2, device).to(dtype).reshape({3000, columns});
      Tensor y = Tensor::empty({3000}, DType::i32, device);
      kernels::argmax_columns({.x = x, .y = y});
      const Numbers in = values(x);
      const std::vector<int32_t> got = y.to_vector<int32_t>();
      for (int64_t i = 0; i < 3000; ++i) {
        const auto row = in.begin() + i * columns;
        REQUIRE(got[uz(i)] == std::max_element(row, row + columns) - row);
      }
    }
    const Numbers odd{NAN,       1, 2,        NAN, NAN, NAN,       -INFINITY, -INFINITY,
                      -INFINITY, 1, INFINITY, NAN, NAN, -INFINITY, NAN};
    const Tensor x = Tensor::from(odd, {5, 3}).to(dtype).to(device);
    Tensor y = Tensor::empty({5}, DType::i32, device);
    kernels::argmax_columns({.x = x, .y = y});
    CHECK(y.to_vector<int32_t>() == std::vector<int32_t>{2, 0, 0, 1, 1});
  });
}

TEST_CASE("count_equal: all, and over an index") {
  for (Device device : devices()) {
    const Tensor a = random_ints(150000, 0, 3, device), b = random_ints(150000, 0, 3, device);
    const Tensor index = random_ints(70003, 0, 150000, device);
    const auto left = a.to_vector<int32_t>(), right = b.to_vector<int32_t>();
    int64_t all = 0, some = 0;
    for (size_t i = 0; i < left.size(); ++i) all += left[i] == right[i];
    for (int32_t k : index.to_vector<int32_t>()) some += left[uz(k)] == right[uz(k)];
    Tensor y = Tensor::empty({1}, DType::i64, device);
    kernels::count_equal({.a = a, .b = b, .y = y});
    CHECK(y.item() == all);
    kernels::count_equal({.a = a, .b = b, .index = index, .y = y});
    CHECK(y.item() == some);
    kernels::count_equal({.a = a, .b = b, .index = Tensor::empty({0}, DType::i32, device), .y = y});
    CHECK(y.item() == 0);
  }
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
