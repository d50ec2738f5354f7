#include "../op_table.h"
#include "../support.h"
#include <adjoint/kernels/dense/grouped_gemm.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("products by groups and their gradients, by the table of ops") { hold(ops::grouped_products()); }

TEST_CASE("tiles of groups cover every row once, whatever the sizes") {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{0},
                                            {1},
                                            {4},
                                            {5},
                                            {0, 0, 9, 0},
                                            {3, 1, 4, 1, 5, 9, 2, 6},
                                            {8, 8, 8},
                                            {7, 1},
                                            {0, 1000, 0, 1}}) {
    std::vector<int64_t> offsets{0};
    for (int64_t size : sizes) offsets.push_back(offsets.back() + size);
    const kernels::GroupTiles tiles{offsets.data(), std::ssize(sizes), 2};
    std::vector<int64_t> group_of_row;
    for (int64_t k = 0; k < tiles.count(offsets.back()); ++k) {
      const auto [group, begin, end] = tiles.tile(k);
      if (begin >= end) continue;
      CHECK(begin == std::ssize(group_of_row));
      CHECK(end - begin <= 4);
      CHECK(end <= offsets[uz(group + 1)]);
      group_of_row.resize(uz(end), group);
    }
    REQUIRE(std::ssize(group_of_row) == offsets.back());
    for (int64_t g = 0; g < std::ssize(sizes); ++g)
      CHECK(std::count(group_of_row.begin(), group_of_row.end(), g) == sizes[uz(g)]);
  }
}

TEST_CASE("a row of a product by groups has the same bits whatever rows are beside it") {
  for (const Device device : devices())
    for (const auto& [inner, outer] :
         std::vector<std::pair<int64_t, int64_t>>{{4, 4}, {3, 16}, {32, 6}, {65, 33}})
      for (const bool turned : {false, true}) {
        const Tensor x = random_tensor({300, inner}, DType::f32, device),
                     b = random_tensor(turned ? Shape{1, outer, inner} : Shape{1, inner, outer}, DType::f32,
                                       device);
        const auto product = [&](int64_t begin, int64_t end) {
          const Tensor rows = x.rows(begin, end).clone();
          Tensor c = Tensor::empty({end - begin, outer}, DType::f32, device);
          kernels::grouped_gemm({.x = rows,
                                 .offsets = Tensor::from(std::vector{int64_t{0}, end - begin}, device),
                                 .b = b,
                                 .trans_b = turned ? kernels::Transpose::yes : kernels::Transpose::no,
                                 .c = c});
          return c;
        };
        const Tensor all = product(0, 300);
        for (const auto& [begin, end] :
             std::vector<std::pair<int64_t, int64_t>>{{0, 7}, {8, 40}, {100, 190}, {40, 300}}) {
          CAPTURES(inner, outer, turned, begin, device.str());
          CHECK(same_bits(product(begin, end), all.rows(begin, end).clone()));
        }
      }
}

TEST_CASE("gradients of the weights of a part of the rows have the bits that they have among all") {
  for (const Device device : devices()) {
    constexpr int64_t kAll = 150000, kPart = 60000;  // pieces of other lengths, on either device
    const Tensor x = random_tensor({kAll, 2}, DType::f32, device),
                 dz = random_tensor({kAll, 3}, DType::f32, device);
    const auto gradient = [&](int64_t rows, const std::vector<int64_t>& offsets, int64_t all_rows) {
      const Tensor some = x.rows(0, rows).clone(), some_dz = dz.rows(0, rows).clone();
      Tensor dw = Tensor::empty({std::ssize(offsets) - 1, 2, 3}, DType::f32, device);
      kernels::grouped_weight_gradient({.x = some,
                                        .offsets = Tensor::from(offsets, device),
                                        .dz = some_dz,
                                        .all_rows = all_rows,
                                        .dw = dw});
      return dw;
    };
    const Tensor all = gradient(kAll, {0, kPart, kAll}, 0).rows(0, 1).clone();
    CHECK(same_bits(gradient(kPart, {0, kPart}, kAll), all));
  }
}

TEST_CASE("products by groups refuse what does not fit") {
  const Tensor x = Tensor::zeros({4, 6}), b = Tensor::zeros({2, 6, 3}),
               offsets = Tensor::from<int64_t>({0, 1, 4});
  Tensor c = Tensor::zeros({4, 3});
  const auto product = [&](const Tensor& rows, const Tensor& groups, const Tensor& weights) {
    kernels::grouped_gemm({.x = rows, .offsets = groups, .b = weights, .c = c});
  };
  CHECK_NOTHROW(product(x, offsets, b));
  CHECK_ERROR_HAS(product(Tensor::zeros({4, 5}), offsets, b), "[4, 5]");
  CHECK_ERROR_HAS(product(x, offsets, Tensor::zeros({3, 6, 3})), "[3, 6, 3]");
  CHECK_ERROR_HAS(product(x, Tensor::from<int32_t>({0, 1, 4}), b), "int64");
  CHECK_ERROR_HAS(product(x, Tensor::from<int64_t>({0}), b), "one group or more");
  CHECK_ERROR(kernels::grouped_gemm(
                  {.x = x, .index = Tensor::from<int32_t>({0, 3, 4, 1}), .offsets = offsets, .b = b, .c = c}),
              "grouped_gemm: index[2] is 4, expected [0, 4)");
}
