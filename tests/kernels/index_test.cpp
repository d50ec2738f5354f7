#include "../structures.h"
#include <adjoint/kernels/index/pad.h>
#include <adjoint/kernels/index/select.h>
#include <adjoint/kernels/sparse/csr.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kLengths[] = {0, 1, 31, 1000, 70001};  // the last is several chunks on any device

int64_t whole(const Tensor& scalar) { return scalar.to_vector<int64_t>()[0]; }

Tensor empty_index(int64_t n, Device device) { return Tensor::empty({n}, DType::i32, device); }

}  // namespace

TEST_CASE("iota counts up") {
  for (Device device : devices())
    for (int64_t n : kLengths) {
      Tensor y = empty_index(n, device);
      kernels::iota({.y = y});
      std::vector<int32_t> expected(uz(n));
      std::iota(expected.begin(), expected.end(), 0);
      CHECK(y.to_vector<int32_t>() == expected);
    }
}

TEST_CASE("select_pairs finds the positions of the pairs that pass") {
  using kernels::PairTest;
  for (Device device : devices())
    for (int64_t n : kLengths)
      for (PairTest test :
           {PairTest::differ, PairTest::both_present, PairTest::both_absent, PairTest::begins_run}) {
        CAPTURE(n);
        const Tensor a = random_ints(n, -1, 2, device), b = random_ints(n, -1, 1, device);
        const auto x = a.to_vector<int32_t>(), y = b.to_vector<int32_t>();
        std::vector<int32_t> places;
        for (size_t k = 0; k < x.size(); ++k) {
          const bool passes = test == PairTest::differ         ? x[k] != y[k]
                              : test == PairTest::both_present ? std::min(x[k], y[k]) >= 0
                              : test == PairTest::both_absent
                                  ? std::max(x[k], y[k]) < 0
                                  : k == 0 || x[k] != x[k - 1] || y[k] != y[k - 1];
          if (passes) places.push_back(static_cast<int32_t>(k));
        }
        Tensor positions = empty_index(n, device);
        Tensor count = Tensor::empty({}, DType::i64, device);
        kernels::select_pairs({.test = test, .a = a, .b = b, .positions = positions, .count = count});
        REQUIRE(whole(count) == static_cast<int64_t>(places.size()));
        CHECK(positions.rows(0, whole(count)).to_vector<int32_t>() == places);
      }
}

TEST_CASE("renumber inverts an index and finds duplicates") {
  for (Device device : devices())
    for (int64_t n : kLengths) {
      CAPTURE(n);
      std::vector<int32_t> index(uz(n));
      std::iota(index.begin(), index.end(), 0);
      std::rotate(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(n / 3), index.end());
      const auto invert = [&](int64_t limit) {
        std::vector<int32_t> expected(uz(limit), -1);
        for (size_t k = index.size(); k-- > 0;)
          if (index[k] >= 0) expected[uz(index[k])] = static_cast<int32_t>(k);
        Tensor number = empty_index(limit, device), repeated = Tensor::empty({}, DType::i64, device);
        kernels::renumber({.index = Tensor::from(index, device), .number = number, .repeated = repeated});
        CHECK(number.to_vector<int32_t>() == expected);
        return whole(repeated);
      };
      CHECK(invert(n) == n);
      for (size_t k = 0; k < index.size(); k += 4) index[k] = -1;
      CHECK(invert(n + 5) == n);
      if (n < 1000) continue;
      index[900] = index[17];
      index[901] = index[18];
      CHECK(invert(n) == 900);
    }
}

TEST_CASE("find_entries finds the first of equal entries") {
  for (Device device : devices()) {
    const Csr csr{4, 9, Tensor::from<int64_t>({0, 3, 3, 7, 8}, device),
                  Tensor::from<int32_t>({0, 5, 8, 2, 2, 2, 7, 4}, device)};
    const Tensor row = Tensor::from<int32_t>({0, 0, 0, 1, 2, 2, 2, 3, 3}, device);
    const Tensor col = Tensor::from<int32_t>({0, 8, 4, 0, 2, 7, 8, 4, 0}, device);
    Tensor entry = Tensor::empty_like(row);
    kernels::find_entries({.csr = csr, .row = row, .col = col, .entry = entry});
    CHECK(entry.to_vector<int32_t>() == std::vector<int32_t>{0, 2, -1, -1, 3, 6, -1, 7, -1});
  }
}

TEST_CASE("find_entries accepts pairs in any order") {
  const int64_t rows = 50, cols = 3000, pairs = 40001;
  std::vector<int64_t> lengths(rows);  // many, and some empty
  for (size_t i = 0; i < 40; ++i) lengths[i] = static_cast<int64_t>(20 * i);
  lengths[39] = 4790;  // many equal columns
  const HostCsr a = random_structure(lengths, cols);
  HostCoo list = random_list(rows, cols, pairs);
  for (const bool ascending : {false, true}) {
    if (ascending) {
      std::sort(list.row.begin(), list.row.end());
      for (auto k = list.row.begin(); k != list.row.end();) {
        const auto end = std::upper_bound(k, list.row.end(), *k);
        std::sort(list.col.begin() + (k - list.row.begin()), list.col.begin() + (end - list.row.begin()));
        k = end;
      }
    }
    std::vector<int32_t> expected;
    list.each([&](size_t i, size_t j, size_t) {
      const auto end = a.indices.begin() + a.offsets[i + 1];
      const auto found = std::find(a.indices.begin() + a.offsets[i], end, static_cast<int32_t>(j));
      expected.push_back(found == end ? -1 : static_cast<int32_t>(found - a.indices.begin()));
    });
    for (Device device : devices()) {
      const Coo coo = list.to(device);
      Tensor entry = empty_index(pairs, device);
      kernels::find_entries({.csr = a.csr.to(device), .row = coo.row, .col = coo.col, .entry = entry});
      CHECK(entry.to_vector<int32_t>() == expected);
    }
  }
}

TEST_CASE("order_pairs puts the smaller first") {
  for (Device device : devices()) {
    const Tensor a = random_ints(70001, -5, 5, device), b = random_ints(70001, -5, 5, device);
    Tensor low = Tensor::empty_like(a), high = Tensor::empty_like(a);
    kernels::order_pairs({.a = a, .b = b, .low = low, .high = high});
    const auto x = a.to_vector<int32_t>(), y = b.to_vector<int32_t>(), l = low.to_vector<int32_t>(),
               h = high.to_vector<int32_t>();
    for (size_t k = 0; k < x.size(); ++k)
      REQUIRE((l[k] == std::min(x[k], y[k]) && h[k] == std::max(x[k], y[k])));
  }
}

TEST_CASE("merge_runs sums or averages each run, in order") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64})
      for (int64_t width : {1, 5})
        for (bool mean : {false, true}) {
          const Tensor x = random_tensor({500, width}, dtype, device);
          const std::vector<int32_t> starts{0, 1, 3, 300, 301, 649};
          const Tensor order = random_ints(650, 0, 500, device);
          Tensor y = Tensor::empty({6, width}, dtype, device);
          kernels::merge_runs(
              {.mean = mean, .x = x, .order = order, .starts = Tensor::from(starts, device), .y = y});
          const Numbers in = values(x), out = values(y);
          const auto sources = order.to_vector<int32_t>();
          for (size_t r = 0; r < 6; ++r)
            for (size_t f = 0; f < uz(width); ++f) {
              const size_t first = uz(starts[r]);
              const size_t last = r < 5 ? uz(starts[r + 1]) : 650;
              double sum = 0.0;
              for (size_t k = first; k < last; ++k) sum += in[uz(sources[k]) * uz(width) + f];
              if (mean) sum /= static_cast<double>(last - first);
              const double expected =
                  dtype == DType::f32 ? static_cast<double>(static_cast<float>(sum)) : sum;
              CHECK(out[r * uz(width) + f] == expected);
            }
        }
}

TEST_CASE("index kernels reject mismatched arguments") {
  Tensor a = empty_index(3, {}), b = empty_index(4, {}), count = Tensor::empty({}, DType::i64);
  CHECK_ERROR_HAS(kernels::order_pairs({.a = a, .b = b, .low = a, .high = a}), "order_pairs: b is [4] int32");
  const auto test = kernels::PairTest::differ;
  CHECK_THROWS_AS(kernels::select_pairs({.test = test, .a = a, .b = b, .positions = a, .count = count}),
                  Error);
  CHECK_THROWS_AS(kernels::select_pairs({.test = test, .a = a, .b = a, .positions = a, .count = a}), Error);
  Tensor real = Tensor::zeros({3});
  CHECK_THROWS_AS(kernels::iota({.y = real}), Error);
}

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

TEST_CASE("first_outside refuses other dtypes and shapes") {
  Tensor position = Tensor::empty({}, DType::i64);
  CHECK_THROWS_AS(kernels::first_outside({.index = Tensor::zeros({3}), .limit = 5, .position = position}),
                  Error);
  CHECK_THROWS_AS(kernels::first_outside({.index = Tensor(), .limit = 5, .position = position}), Error);
  Tensor wrong = Tensor::empty({2}, DType::i64);
  CHECK_THROWS_AS(
      kernels::first_outside({.index = Tensor::zeros({3}, DType::i32), .limit = 5, .position = wrong}),
      Error);
}

TEST_CASE("find_ranges equals a search, with empty ranges at either end") {
  for (Device device : devices())
    for (const std::vector<int32_t>& bounds :
         {std::vector<int32_t>{0, 9}, {0, 0, 4, 4, 5, 9, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}})
      for (int64_t n : kLengths) {
        std::vector<int32_t> index(uz(n)), range(uz(n)), place(uz(n));
        for (size_t k = 0; k < index.size(); ++k) {
          index[k] = static_cast<int32_t>((k * 7 + 3) % 9);
          for (size_t t = 0; t + 1 < bounds.size(); ++t)
            if (bounds[t] <= index[k] && index[k] < bounds[t + 1])
              range[k] = static_cast<int32_t>(t), place[k] = index[k] - bounds[t];
        }
        Tensor found = empty_index(n, device), in_range = empty_index(n, device);
        kernels::find_ranges({.index = Tensor::from(index, device),
                              .bounds = Tensor::from(bounds, device),
                              .range = found,
                              .place = in_range});
        CHECK(found.to_vector<int32_t>() == range);
        CHECK(in_range.to_vector<int32_t>() == place);
      }
}

TEST_CASE("pad_arrays copies arrays and continues them by a ramp") {
  for (Device device : devices()) {
    const kernels::Ramp ramp{.first = 7, .step = 3, .offset = 2, .span = 5};
    std::vector<kernels::Padded> arrays;
    std::vector<std::vector<double>> expected;
    for (int64_t k = 0; k < 70; ++k) {  // more than one launch takes, of all lengths
      const DType dtype = k % 3 == 0 ? DType::i32 : k % 3 == 1 ? DType::i64 : DType::f32;
      const int64_t front = kLengths[uz(k % 5)], rest = k % 4 == 0 ? 0 : 1 + k * k * 40 % 9001;
      const Tensor x = random_ints(front, -9, 100, device).to(dtype);
      arrays.push_back(
          {x, Tensor::empty({front + rest}, dtype, device), k % 2 == 0 ? ramp : kernels::Ramp{}});
      std::vector<double>& all = expected.emplace_back(values(x));
      for (int64_t j = 0; j < rest; ++j)
        all.push_back(k % 2 == 0 ? 7.0 + std::floor(static_cast<double>(3 * j + 2) / 5.0) : 0.0);
    }
    kernels::pad_arrays({.arrays = arrays});
    for (size_t k = 0; k < arrays.size(); ++k) CHECK(values(arrays[k].y) == expected[k]);
  }
  const Tensor x = random_ints(3, 0, 9), bytes = Tensor::zeros({3}, DType::u8);
  const auto refused = [](kernels::Padded one, const char* part) {
    const std::array arrays{std::move(one)};
    CHECK_ERROR_HAS(kernels::pad_arrays({.arrays = arrays}), part);
  };
  refused({x, Tensor::empty({2}, DType::i32)}, "no fewer elements");
  refused({x, Tensor::empty({4}, DType::i64)}, "expected one dtype");
  refused({bytes, bytes}, "expected int32, int64 or float32");
  refused({x, Tensor::empty({4}, DType::i32), {.span = 0}}, "span 0");
}
