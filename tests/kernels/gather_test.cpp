#include "cases.h"
#include <adjoint/kernels/index/gather.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("gather_rows: any dtype, repeated and no rows") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64, DType::u8})
      for (int64_t columns : {0, 1, 3, 64, 129}) {
        CAPTURES(name_of(dtype), columns);
        const Tensor x = random_ints(211 * columns, 0, 200).to(dtype).reshape({211, columns}).to(device);
        const Tensor index = random_ints(500, 0, 211, device);
        Tensor y = Tensor::empty({500, columns}, dtype, device);
        kernels::gather_rows({.x = x, .index = index, .y = y});
        const Numbers in = values(x), out = values(y);
        const auto sources = index.to_vector<int32_t>();
        for (size_t k = 0; k < out.size(); ++k) {
          const size_t width = uz(columns);
          REQUIRE(out[k] == in[uz(sources[k / width]) * width + k % width]);
        }
        Tensor none = Tensor::empty({0, columns}, dtype, device);
        kernels::gather_rows({.x = x, .index = Tensor::empty({0}, DType::i32, device), .y = none});
      }
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

TEST_CASE("concat_columns and split_columns undo each other") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32})
      for (int64_t rows : {0, 1, 1000}) {
        CAPTURE(rows);
        const std::vector<int64_t> widths{3, 0, 1, 130, 16};
        std::vector<Tensor> parts, back;
        for (int64_t w : widths) {
          parts.push_back(random_ints(rows * w, 0, 100).to(dtype).reshape({rows, w}).to(device));
          back.push_back(Tensor::empty_like(parts.back()));
        }
        Tensor y = Tensor::empty({rows, 150}, dtype, device);
        kernels::concat_columns({.parts = parts, .y = y});
        const Numbers whole = values(y);
        int64_t offset = 0;
        for (const Tensor& part : parts) {
          const Numbers in = values(part);
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t f = 0; f < part.size(1); ++f)
              REQUIRE(whole[uz(i * 150 + offset + f)] == in[uz(i * part.size(1) + f)]);
          offset += part.size(1);
        }
        kernels::split_columns({.y = y, .parts = back});
        for (size_t k = 0; k < parts.size(); ++k) CHECK(same_bits(parts[k], back[k]));
      }
}

TEST_CASE("concat_columns refuses parts that do not fill y") {
  const std::vector<Tensor> parts{random_tensor({4, 3}), random_tensor({4, 2})};
  Tensor y = Tensor::empty({4, 6}), other = Tensor::empty({3, 5});
  CHECK_ERROR(kernels::concat_columns({.parts = parts, .y = y}),
              "concat_columns: the parts have 5 columns together, y is [4, 6] float32 on cpu");
  CHECK_THROWS_AS(kernels::concat_columns({.parts = parts, .y = other}), Error);
}

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
          CAPTURES(name_of(dtype), columns, begin);
          const Tensor x = random_ints(rows * columns, 1, 200).to(dtype).to(device).reshape({rows, columns});
          Tensor y = Tensor::empty({rows, length}, dtype, device), back = Tensor::empty_like(x);
          kernels::slice_columns({.x = x, .begin = begin, .y = y});
          kernels::pad_columns({.x = y, .begin = begin, .y = back});
          const Numbers in = values(x), out = values(y), padded = values(back);
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t c = 0; c < columns; ++c) {
              const auto position = uz(i * columns + c);
              const bool inside = c >= begin && c < begin + length;
              REQUIRE(padded[position] == (inside ? in[position] : 0.0));
              if (inside) REQUIRE(out[uz(i * length + c - begin)] == in[position]);
            }
        }
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
