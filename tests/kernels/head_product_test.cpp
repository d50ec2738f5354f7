#include "cases.h"
#include <adjoint/kernels/attention/head_dot.h>

using namespace adj;
using namespace adj::test;

namespace {

struct Extents {
  int64_t rows, features, heads, width;
};
/// One and many rows, partial tiles, head widths that are not multiples of a vector.
constexpr Extents kExtents[] = {{1, 1, 1, 1},    {7, 3, 2, 5},     {256, 4, 4, 16}, {257, 16, 8, 8},
                                {1000, 1, 3, 7}, {601, 33, 1, 64}, {0, 2, 2, 2}};

template <class F>
void for_products(F f) {
  on_devices_and_features([&](Device device, DType dtype) {
    for (const Extents& x : kExtents)
      for (bool turned : {false, true}) {
        CAPTURES(x.rows, x.features, x.heads, x.width, turned);
        f(x, turned, device, dtype);
      }
  });
}

}  // namespace

TEST_CASE("head_product equals plain loops, and adds") {
  for_products([](const Extents& e, bool turned, Device device, DType dtype) {
    const int64_t in = turned ? e.width : e.features, out = turned ? e.features : e.width;
    const Tensor x = random_tensor({e.rows, e.heads * in}, dtype, device);
    const Tensor weight = random_tensor({e.features, e.heads * e.width}, dtype, device);
    Tensor y = random_tensor({e.rows, e.heads * out}, dtype, device);
    const Numbers X = values(x), W = values(weight), before = values(y);
    Numbers expected(before.size());
    for (int64_t i = 0; i < e.rows; ++i)
      for (int64_t h = 0; h < e.heads; ++h)
        for (int64_t m = 0; m < out; ++m)
          for (int64_t k = 0; k < in; ++k) {
            const int64_t feature = turned ? m : k, column = h * e.width + (turned ? k : m);
            expected[uz((i * e.heads + h) * out + m)] +=
                X[uz((i * e.heads + h) * in + k)] * W[uz(feature * e.heads * e.width + column)];
          }
    const double allowed = dtype == DType::bf16 ? 0.05 : 1e-5;
    const auto multiply = [&](bool accumulate) {
      kernels::head_product(
          {.x = x, .weight = weight, .heads = e.heads, .turned = turned, .accumulate = accumulate, .y = y});
    };
    multiply(false);
    CHECK(close(y, expected, allowed));
    CHECK(same_bits_on_any_threads([&] {
      multiply(false);
      return y.clone();
    }));
    y = tensor_of(before, {e.rows, e.heads * out}, dtype, device);
    multiply(true);
    CHECK(close(y, zipped(expected, before, std::plus()), allowed));
  });
}

TEST_CASE("in head_product a NaN stays in its head") {
  for_products([](const Extents& e, bool turned, Device device, DType dtype) {
    if (e.rows == 0) return;
    const int64_t in = turned ? e.width : e.features, out = turned ? e.features : e.width;
    for (bool in_weight : {false, true}) {
      Numbers x = values(random_tensor({e.rows, e.heads * in}));
      Numbers weight = values(random_tensor({e.features, e.heads * e.width}));
      (in_weight ? weight : x)[0] = NAN;
      Tensor y = Tensor::empty({e.rows, e.heads * out}, dtype, device);
      kernels::head_product({.x = tensor_of(x, {e.rows, e.heads * in}, dtype, device),
                             .weight = tensor_of(weight, {e.features, e.heads * e.width}, dtype, device),
                             .heads = e.heads,
                             .turned = turned,
                             .y = y});
      const Numbers got = values(y);
      CHECK(std::isnan(got[0]));
      for (size_t i = 0; i < got.size(); ++i)
        if (static_cast<int64_t>(i) % (e.heads * out) >= out) REQUIRE_FALSE(std::isnan(got[i]));
    }
  });
}

TEST_CASE("diagonal_blocks extracts each head's block") {
  on_devices_and_features([](Device device, DType dtype) {
    constexpr int64_t kHeads = 3, kFeatures = 2, kWidth = 5;
    Numbers product(kHeads * kFeatures * kHeads * kWidth, NAN), expected(kFeatures * kHeads * kWidth);
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t e = 0; e < kFeatures; ++e)
        for (int64_t d = 0; d < kWidth; ++d) {
          const auto number = static_cast<double>(h * 100 + e * 10 + d);
          product[uz(((h * kFeatures + e) * kHeads + h) * kWidth + d)] = number;
          expected[uz((e * kHeads + h) * kWidth + d)] = number;
        }
    Tensor weight = Tensor::empty({kFeatures, kHeads * kWidth}, DType::f32, device).to(dtype);
    kernels::diagonal_blocks(
        {.product = tensor_of(product, {kHeads * kFeatures, kHeads * kWidth}, dtype, device),
         .heads = kHeads,
         .weight = weight});
    CHECK(close(weight, expected, dtype == DType::bf16 ? 1.0 : 0.0));
  });
}

TEST_CASE("head_product rejects mismatched arguments") {
  Tensor y = Tensor::empty({4, 6});
  const Tensor x = Tensor::empty({4, 4});
  CHECK_ERROR_HAS(kernels::head_product({.x = x, .weight = Tensor::empty({2, 5}), .heads = 2, .y = y}),
                  "head_product: weight is");
  CHECK_ERROR_HAS(kernels::head_product({.x = x, .weight = Tensor::empty({3, 6}), .heads = 2, .y = y}),
                  "head_product");
}
