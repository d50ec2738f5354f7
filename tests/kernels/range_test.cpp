#include "../support.h"
#include <adjoint/kernels/index/range.h>

#include <numeric>

using namespace adj;
using namespace adj::test;

namespace {

template <class T>
int64_t first(const std::vector<T>& index, int64_t limit, Device device) {
  Tensor position = Tensor::empty({}, DType::i64, device);
  kernels::first_outside({.index = Tensor::from(index, device), .limit = limit, .position = position});
  return position.to_vector<int64_t>()[0];
}

}  // namespace

TEST_CASE("first_outside finds the first index out of range, of many or none") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    CHECK(first<int32_t>({}, 5, device) == 0);
    CHECK(first<int32_t>({0, 4}, 5, device) == 2);
    CHECK(first<int32_t>({0, 5, -1}, 5, device) == 1);
    CHECK(first<int64_t>({0, int64_t{1} << 32, 9}, 5, device) == 1);
    CHECK(first<int64_t>({-1}, 5, device) == 0);
    CHECK(first<int64_t>({0}, 0, device) == 0);
    std::vector<int32_t> many(300'001);
    std::iota(many.begin(), many.end(), 0);
    CHECK(first(many, 300'001, device) == 300'001);
    CHECK(first(many, 300'000, device) == 300'000);
    CHECK(first(many, 70'001, device) == 70'001);
    many[131'072] = -7;
    CHECK(first(many, 200'000, device) == 131'072);
    many[65'535] = 1 << 30;
    CHECK(first(many, 200'000, device) == 65'535);
  }
}

TEST_CASE("first_outside names what it does not take") {
  Tensor position = Tensor::empty({}, DType::i64);
  CHECK_THROWS_AS(kernels::first_outside({.index = Tensor::zeros({3}), .limit = 5, .position = position}),
                  Error);
  CHECK_THROWS_AS(kernels::first_outside({.index = Tensor(), .limit = 5, .position = position}), Error);
  Tensor wrong = Tensor::empty({2}, DType::i64);
  CHECK_THROWS_AS(
      kernels::first_outside({.index = Tensor::zeros({3}, DType::i32), .limit = 5, .position = wrong}),
      Error);
}
