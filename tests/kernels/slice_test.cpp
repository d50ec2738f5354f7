#include "cases.h"
#include <adjoint/kernels/index/slice.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("slice_columns and pad_columns: any dtype, any place") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64, DType::u8})
      for (int64_t rows : {0, 1, 999})
        for (const auto& [columns, begin, length] : {std::tuple<int64_t, int64_t, int64_t>{16, 4, 8},
                                                     {16, 0, 16},
                                                     {16, 16, 0},
                                                     {7, 3, 2},
                                                     {130, 1, 128},
                                                     {1, 0, 1}}) {
          CAPTURE(device.str());
          CAPTURE(name_of(dtype));
          CAPTURE(columns);
          CAPTURE(begin);
          const Tensor x = random_ints(rows * columns, 1, 200).to(dtype).to(device).reshape({rows, columns});
          Tensor y = Tensor::empty({rows, length}, dtype, device), back = Tensor::empty_like(x);
          kernels::slice_columns({.x = x, .begin = begin, .y = y});
          kernels::pad_columns({.x = y, .begin = begin, .y = back});
          const std::vector<double> in = values(x), out = values(y), padded = values(back);
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t c = 0; c < columns; ++c) {
              const auto at = static_cast<size_t>(i * columns + c);
              const bool inside = c >= begin && c < begin + length;
              REQUIRE(padded[at] == (inside ? in[at] : 0.0));
              if (inside) REQUIRE(out[static_cast<size_t>(i * length + c - begin)] == in[at]);
            }
        }
}

TEST_CASE("slices refuse columns that are not there") {
  const Tensor x = random_tensor({4, 5});
  Tensor y = Tensor::empty({4, 3});
  CHECK_THROWS_WITH_AS(kernels::slice_columns({.x = x, .begin = 3, .y = y}),
                       "slice_columns: columns [3, 6) of [4, 5] float32 on cpu", Error);
  CHECK_THROWS_AS(kernels::slice_columns({.x = x, .begin = -1, .y = y}), Error);
  CHECK_THROWS_AS(kernels::slice_columns({.x = x.rows(0, 3), .begin = 0, .y = y}), Error);
  Tensor other = Tensor::empty({4, 2});
  CHECK_THROWS_AS(kernels::pad_columns({.x = y, .begin = 0, .y = other}), Error);
}
