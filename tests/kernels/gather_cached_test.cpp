#include "../support.h"
#include <adjoint/core/pinned.h>
#include <adjoint/kernels/index/gather.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("gather_cached: rows from both places, of any dtype and width") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::u8})
      for (int64_t columns : {0, 1, 3, 4, 100, 129})
        for (const auto& [hot_rows, cold_rows] : {std::pair<int64_t, int64_t>{50, 211}, {0, 7}, {30, 0}}) {
          CAPTURES(name_of(dtype), columns);
          const auto matrix = [&](int64_t rows) {
            return random_ints(rows * columns, 0, 200).to(dtype).reshape({rows, columns});
          };
          const Tensor hot = matrix(hot_rows), cold = matrix(cold_rows);
          const PinnedRows pinned(cold, device);
          const Tensor on_device = cold.to(device);
          const Tensor index =
              random_ints(1000, -static_cast<int32_t>(cold_rows), static_cast<int32_t>(hot_rows));
          const auto from_hot = values(hot), from_cold = values(cold);
          const auto place = index.to_vector<int32_t>();
          for (const kernels::RowsInPlace& others : {kernels::RowsInPlace{pinned.data(), cold_rows},
                                                     kernels::RowsInPlace{pinned.data(), cold_rows, true},
                                                     kernels::RowsInPlace{on_device.raw_data(), cold_rows}}) {
            Tensor y = Tensor::full({1000, columns}, 201, dtype, device);
            kernels::gather_cached({.hot = hot.to(device), .cold = others, .at = index.to(device), .y = y});
            const auto out = values(y);
            for (size_t k = 0; k < out.size(); ++k) {
              const auto width = uz(columns);
              const int32_t row = place[k / width];
              const double expected = row >= 0 ? from_hot[uz(row) * width + k % width]
                                               : from_cold[uz(-1 - row) * width + k % width];
              REQUIRE(out[k] == expected);
            }
          }
        }
}

TEST_CASE("gather_cached names the index out of range") {
  const Tensor hot = random_tensor({5, 2});
  const PinnedRows cold(random_tensor({3, 2}), Device::cpu());
  Tensor y = Tensor::empty({2, 2});
  const auto gather = [&](std::vector<int32_t> index) {
    kernels::gather_cached(
        {.hot = hot, .cold = {cold.data(), cold.rows()}, .at = Tensor::from(index), .y = y});
  };
  CHECK_NOTHROW(gather({-3, 4}));
  CHECK_ERROR(gather({0, 5}), "gather_cached: at[1] is 5, expected [-3, 5)");
  CHECK_ERROR(gather({-4, 0}), "gather_cached: at[0] is -4, expected [-3, 5)");
  CHECK_THROWS_AS(gather({0}), Error);
}
