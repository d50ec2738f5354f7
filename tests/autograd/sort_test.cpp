#include "../reference/plain.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/sort.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Indices along the last dimension in order: NaN the largest, equal numbers as they are.
std::vector<int32_t> order_of(const Numbers& row, bool descending) {
  std::vector<int32_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const double left = row[uz(a)], right = row[uz(b)];
    const auto below = [](double l, double r) { return std::isnan(r) ? !std::isnan(l) : l < r; };
    return descending ? below(right, left) : below(left, right);
  });
  return order;
}

}  // namespace

TEST_CASE("sort and topk equal a stable sort along any dimension") {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16})
    on_devices(70, DType::f32, [&](Draw& draw, Device device) {
      for (const Shape& shape : {Shape{1, 1000}, {37, 5}, {200, 3}, {4, 6, 3}, {9}, {0, 4}, {3, 0}})
        for (int dim = 0; dim < shape.dims(); ++dim)
          for (const bool descending : {false, true}) {
            CAPTURES(name_of(dtype), shape.str(), dim, descending);
            Numbers numbers = values(draw.ints(shape.numel(), -9, 9));  // many ties
            for (size_t i = 0; i < numbers.size(); i += 11) numbers[i] = i % 2 == 0 ? NAN : -0.0;
            if (numbers.size() > 5) numbers[2] = INFINITY, numbers[4] = -INFINITY;
            const Tensor x = Tensor::from(numbers, shape).to(dtype).to(device);
            const int64_t extent = shape[dim];
            int64_t inner = 1;
            for (int d = dim + 1; d < shape.dims(); ++d) inner *= shape[d];
            for (const int64_t k : {extent, std::min<int64_t>(2, extent), int64_t{0}}) {
              const Sorted found =
                  k == extent ? sort(x, dim - shape.dims(), descending) : topk(x, k, dim, descending);
              REQUIRE(found.values.shape() == shape.with(dim, k));
              REQUIRE(found.indices.shape() == shape.with(dim, k));
              const auto index = found.indices.to_vector<int32_t>();
              const Numbers sorted = values(found.values.value());
              size_t wrong = 0;
              for (int64_t o = 0; o * extent * inner < x.numel(); ++o)
                for (int64_t i = 0; i < inner; ++i) {
                  Numbers row;
                  for (int64_t e = 0; e < extent; ++e)
                    row.push_back(numbers[uz((o * extent + e) * inner + i)]);
                  const std::vector<int32_t> order = order_of(row, descending);
                  for (int64_t e = 0; e < k; ++e) {
                    const size_t place = uz((o * k + e) * inner + i);
                    const double expected = row[uz(order[uz(e)])];
                    wrong += index[place] != order[uz(e)];
                    wrong +=
                        !(sorted[place] == expected || (std::isnan(sorted[place]) && std::isnan(expected)));
                  }
                }
              CHECK(wrong == 0);
            }
          }
    });
}

TEST_CASE("gradients of sort and topk go to the elements that were taken") {
  on_devices(71, DType::f64, [&](Draw& draw, Device) {
    const Tensor x = draw.normal({4, 6}), weight = draw.normal({4, 2});
    check([](const auto& v) { return sort(v[0]).values * sort(v[0], 1, true).values; }, {x});
    check([&](const auto& v) { return topk(v[0], 2).values * weight; }, {x});
    check([](const auto& v) { return topk(v[0], 3, 0, false).values; }, {draw.normal({5, 2, 2})});
  });
  CHECK_ERROR_HAS(topk(Var(Tensor::zeros({3, 4})), 5), "topk: 5 of 4 elements along dimension -1 of [3, 4]");
  CHECK_ERROR_HAS(sort(Var(Tensor::zeros({}))), "sort: no dimension -1 in []");
}
