#include "../captures.h"
#include "../support.h"
#include <adjoint/kernels/sparse/csr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace adj;
using namespace adj::test;

namespace {

/// A coordinate list, sorted by plain std::stable_sort.
struct Sorted {
  std::vector<int64_t> offsets;
  std::vector<int32_t> indices;
  std::vector<int32_t> order;
};

Sorted sort_plainly(const std::vector<int32_t>& row, const std::vector<int32_t>& col, int64_t rows) {
  Sorted result;
  result.order.resize(row.size());
  std::iota(result.order.begin(), result.order.end(), 0);
  std::stable_sort(result.order.begin(), result.order.end(), [&](int32_t a, int32_t b) {
    return std::pair(row[static_cast<size_t>(a)], col[static_cast<size_t>(a)]) <
           std::pair(row[static_cast<size_t>(b)], col[static_cast<size_t>(b)]);
  });
  result.offsets.assign(static_cast<size_t>(rows) + 1, 0);
  for (int32_t i : row) ++result.offsets[static_cast<size_t>(i) + 1];
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  for (int32_t e : result.order) result.indices.push_back(col[static_cast<size_t>(e)]);
  return result;
}

struct EntryList {
  int64_t rows, cols;
  std::vector<int32_t> row, col;
};

/// Empty, one-sided, duplicated, skewed (half the entries in one row), with rows in order, sorted but for the
/// last entry, sorted altogether (the last rows empty), two sorted lists in one, and with many buckets.
std::vector<EntryList> lists() {
  std::vector<EntryList> result{{0, 0, {}, {}}, {5, 3, {}, {}}, {1, 1, {0, 0, 0}, {0, 0, 0}}};
  const auto add = [&](int64_t rows, int64_t cols, int64_t entries) {
    EntryList coo{rows, cols, random_ints(entries, 0, static_cast<int32_t>(rows)).to_vector<int32_t>(),
            random_ints(entries, 0, static_cast<int32_t>(cols)).to_vector<int32_t>()};
    result.push_back(std::move(coo));
    return &result.back();
  };
  add(7, 11, 40);
  add(64, 1, 1000);
  add(1000, 1000, 3000);
  EntryList* skewed = add(3000, 2000, 150001);
  for (size_t e = 0; e < skewed->row.size(); e += 2) skewed->row[e] = 1234;
  EntryList* ordered = add(500, 500, 5000);
  std::sort(ordered->row.begin(), ordered->row.end());
  for (const bool broken : {true, false}) {
    EntryList* sorted = add(4000, 300, 90001);
    for (int32_t& row : sorted->row) row = std::min(row, 3000);
    std::sort(sorted->row.begin(), sorted->row.end());
    sorted->col = sort_plainly(sorted->row, sorted->col, sorted->rows).indices;
    if (broken) sorted->row.back() = 2;
  }
  for (int32_t half : {256, 4096, 32768, 65536}) {  // two sorted halves: it falls in one place alone
    EntryList* twice = add(half, 9, 2 * int64_t{half});
    for (int32_t e = 0; e < 2 * half; ++e) twice->row[static_cast<size_t>(e)] = e % half;
  }
  add(150000, 70000, 200000);
  return result;
}

struct Matrix {
  Csr csr;
  std::vector<int64_t> offsets;
  std::vector<int32_t> indices;
};

Matrix matrix_of(const EntryList& coo, Device device) {
  const Sorted sorted = sort_plainly(coo.row, coo.col, coo.rows);
  Matrix m;
  m.offsets = sorted.offsets;
  m.indices = sorted.indices;
  m.csr.rows = coo.rows;
  m.csr.cols = coo.cols;
  m.csr.offsets = Tensor::from(sorted.offsets, device);
  m.csr.indices = Tensor::from(sorted.indices, device);
  return m;
}

/// Square, some rows with a diagonal entry and some without, empty rows, duplicates.
EntryList square(int64_t n, int64_t entries) {
  EntryList coo{n, n, random_ints(entries, 0, static_cast<int32_t>(n)).to_vector<int32_t>(),
          random_ints(entries, 0, static_cast<int32_t>(n)).to_vector<int32_t>()};
  for (int32_t i = 0; i < n; i += 3) {
    coo.row.push_back(i);
    coo.col.push_back(i);
  }
  return coo;
}

/// With rows of every length at which they might be taken another way.
EntryList at_boundaries() {
  const std::vector<int64_t> lengths = lengths_at_boundaries();
  EntryList coo{std::ssize(lengths), std::ssize(lengths), {}, {}};
  for (size_t i = 0; i < lengths.size(); ++i)
    for (int64_t e = 0; e < lengths[i]; ++e) coo.row.push_back(static_cast<int32_t>(i));
  coo.col = random_ints(std::ssize(coo.row), 0, static_cast<int32_t>(coo.cols)).to_vector<int32_t>();
  return coo;
}

Tensor positive_values(int64_t n, Device device) {
  std::vector<float> value(static_cast<size_t>(n));
  const std::vector<double> raw = values(random_tensor({n}));
  for (size_t e = 0; e < value.size(); ++e) value[e] = static_cast<float>(std::abs(raw[e])) + 0.1f;
  return Tensor::from(value, device);
}

}  // namespace

TEST_CASE("coo_to_csr sorts stably by row and column") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    for (const EntryList& coo : lists()) {
      CAPTURES(coo.rows, coo.row.size());
      const auto entries = static_cast<int64_t>(coo.row.size());
      const Sorted expected = sort_plainly(coo.row, coo.col, coo.rows);
      for (int threads : {1, 2, 4}) {
        const Threads scope(threads);
        Tensor offsets = Tensor::empty({coo.rows + 1}, DType::i64, device);
        Tensor indices = Tensor::empty({entries}, DType::i32, device);
        Tensor order = Tensor::empty({entries}, DType::i32, device);
        kernels::coo_to_csr({.row = Tensor::from(coo.row, device),
                             .col = Tensor::from(coo.col, device),
                             .cols = coo.cols,
                             .offsets = offsets,
                             .indices = indices,
                             .order = order});
        CHECK(offsets.to_vector<int64_t>() == expected.offsets);
        CHECK(indices.to_vector<int32_t>() == expected.indices);
        CHECK(order.to_vector<int32_t>() == expected.order);
      }
    }
  }
}

TEST_CASE("coo_to_csr sorts columns of all their bits") {
  for (Device device : devices()) {
    const int64_t cols = std::numeric_limits<int32_t>::max() - 1, entries = 20001;
    const Tensor row = random_ints(entries, 0, 7, device);
    const Tensor col = random_ints(entries, 0, static_cast<int32_t>(cols), device);
    const Sorted expected = sort_plainly(row.to_vector<int32_t>(), col.to_vector<int32_t>(), 7);
    Tensor offsets = Tensor::empty({8}, DType::i64, device);
    Tensor indices = Tensor::empty_like(row), order = Tensor::empty_like(row);
    kernels::coo_to_csr(
        {.row = row, .col = col, .cols = cols, .offsets = offsets, .indices = indices, .order = order});
    CHECK(offsets.to_vector<int64_t>() == expected.offsets);
    CHECK(indices.to_vector<int32_t>() == expected.indices);
    CHECK(order.to_vector<int32_t>() == expected.order);
  }
}

TEST_CASE("join_rows puts the rows of one structure behind those of another") {
  for (Device device : devices())
    for (const EntryList& coo : lists()) {
      EntryList other{coo.rows, coo.cols, {}, {}};
      for (size_t e = 0; e < coo.row.size(); e += 3) {  // some rows are in one alone
        other.row.push_back(coo.row[e] / 2);
        other.col.push_back(coo.col[e]);
      }
      const Matrix a = matrix_of(coo, device), b = matrix_of(other, device);
      const Tensor a_value = random_ints(a.csr.entries(), 0, 1000, device);
      const Tensor b_value = random_ints(b.csr.entries(), 0, 1000, device);
      std::vector<int64_t> expected_offsets{0};
      std::vector<int32_t> expected_indices, expected_values;
      const auto append = [](std::vector<int32_t>& to, const std::vector<int32_t>& from, const Matrix& m,
                             size_t i) {
        to.insert(to.end(), from.begin() + m.offsets[i], from.begin() + m.offsets[i + 1]);
      };
      const auto first = a_value.to_vector<int32_t>(), second = b_value.to_vector<int32_t>();
      for (size_t i = 0; i < static_cast<size_t>(coo.rows); ++i) {
        append(expected_indices, a.indices, a, i);
        append(expected_indices, b.indices, b, i);
        append(expected_values, first, a, i);
        append(expected_values, second, b, i);
        expected_offsets.push_back(static_cast<int64_t>(expected_indices.size()));
      }
      Tensor offsets = Tensor::empty({coo.rows + 1}, DType::i64, device);
      Tensor indices = Tensor::empty({a.csr.entries() + b.csr.entries()}, DType::i32, device);
      Tensor values = Tensor::empty_like(indices);
      kernels::join_rows({.a = a.csr,
                          .b = b.csr,
                          .a_value = a_value,
                          .b_value = b_value,
                          .offsets = offsets,
                          .indices = indices,
                          .values = values});
      CHECK(offsets.to_vector<int64_t>() == expected_offsets);
      CHECK(indices.to_vector<int32_t>() == expected_indices);
      CHECK(values.to_vector<int32_t>() == expected_values);
    }
}

TEST_CASE("transpose turns the structure, stably") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    for (const EntryList& coo : lists()) {
      const Matrix m = matrix_of(coo, device);
      const int64_t entries = m.csr.entries();
      Tensor row = Tensor::empty({entries}, DType::i32, device);
      kernels::expand_rows({.a = m.csr, .row = row});
      const std::vector<int32_t> rows = row.to_vector<int32_t>();
      for (int64_t i = 0; i < coo.rows; ++i)
        for (int64_t e = m.offsets[static_cast<size_t>(i)]; e < m.offsets[static_cast<size_t>(i) + 1]; ++e)
          REQUIRE(rows[static_cast<size_t>(e)] == i);
      const Sorted expected = sort_plainly(m.indices, rows, coo.cols);
      Tensor offsets = Tensor::empty({coo.cols + 1}, DType::i64, device);
      Tensor indices = Tensor::empty({entries}, DType::i32, device);
      Tensor order = Tensor::empty({entries}, DType::i32, device);
      kernels::transpose({.a = m.csr, .offsets = offsets, .indices = indices, .order = order});
      CHECK(offsets.to_vector<int64_t>() == expected.offsets);
      CHECK(indices.to_vector<int32_t>() == expected.indices);
      CHECK(order.to_vector<int32_t>() == expected.order);
    }
  }
}

TEST_CASE("row_sums adds values, through an order, or counts entries") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    for (const EntryList& coo : lists()) {
      const Matrix m = matrix_of(coo, device);
      const Tensor value = random_tensor({m.csr.entries()}, DType::f32, device);
      std::vector<int32_t> reversed(static_cast<size_t>(m.csr.entries()));
      std::iota(reversed.rbegin(), reversed.rend(), 0);
      const Tensor order = Tensor::from(reversed, device);
      const std::vector<double> v = values(value);
      for (int kind = 0; kind < 3; ++kind) {
        std::vector<double> expected(static_cast<size_t>(coo.rows), 0.0);
        for (size_t i = 0; i < expected.size(); ++i)
          for (int64_t e = m.offsets[i]; e < m.offsets[i + 1]; ++e) {
            const auto at = static_cast<size_t>(e);
            expected[i] += kind == 0 ? 1.0 : kind == 1 ? v[at] : v[static_cast<size_t>(reversed[at])];
          }
        Tensor y = Tensor::empty({coo.rows}, DType::f32, device);
        kernels::row_sums({.a = {m.csr, kind == 0 ? Tensor{} : value, kind == 2 ? order : Tensor{}}, .y = y});
        CHECK(close(y, expected));
      }
    }
  }
}

TEST_CASE("csr_to_dense sums what falls in one place, in order, and leaves zeros elsewhere") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    for (const EntryList& coo : lists()) {
      if (coo.rows * coo.cols > 10'000'000) continue;
      CAPTURE(coo.rows);
      const Matrix m = matrix_of(coo, device);
      const Tensor value = random_tensor({m.csr.entries()}, DType::f32, device);
      std::vector<int32_t> reversed(static_cast<size_t>(m.csr.entries()));
      std::iota(reversed.rbegin(), reversed.rend(), 0);
      const Tensor order = Tensor::from(reversed, device);
      const std::vector<float> v = value.to_vector<float>();
      for (int kind = 0; kind < 3; ++kind) {
        std::vector<float> expected(static_cast<size_t>(coo.rows * coo.cols), 0.0f);
        for (int64_t i = 0; i < coo.rows; ++i)
          for (auto e = m.offsets[static_cast<size_t>(i)]; e < m.offsets[static_cast<size_t>(i) + 1]; ++e) {
            const auto at = static_cast<size_t>(e);
            expected[static_cast<size_t>(i * coo.cols + m.indices[at])] +=
                kind == 0   ? 1.0f
                : kind == 1 ? v[at]
                            : v[static_cast<size_t>(reversed[at])];
          }
        Tensor y = Tensor::full({coo.rows, coo.cols}, 7.0, DType::f32, device);
        kernels::csr_to_dense(
            {.a = {m.csr, kind == 0 ? Tensor{} : value, kind == 2 ? order : Tensor{}}, .y = y});
        CHECK(y.to_vector<float>() == expected);
      }
    }
  }
}

TEST_CASE("a diagonal is added to the rows that have none") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    for (const EntryList& coo : {EntryList{0, 0, {}, {}}, EntryList{4, 4, {}, {}}, square(50, 60), square(3001, 9000)}) {
      const Matrix m = matrix_of(coo, device);
      const Tensor value = random_tensor({m.csr.entries()}, DType::f32, device);
      const std::vector<float> v = value.to_vector<float>();
      for (bool weighted : {false, true}) {
        std::vector<int64_t> expected_offsets{0};
        std::vector<int32_t> expected_indices;
        std::vector<float> expected_values;
        for (int64_t i = 0; i < coo.rows; ++i) {
          const auto begin = m.offsets[static_cast<size_t>(i)], end = m.offsets[static_cast<size_t>(i) + 1];
          bool placed =
              std::find(m.indices.begin() + begin, m.indices.begin() + end, i) != m.indices.begin() + end;
          for (int64_t e = begin; e <= end; ++e) {
            if (!placed && (e == end || m.indices[static_cast<size_t>(e)] > i)) {
              expected_indices.push_back(static_cast<int32_t>(i));
              expected_values.push_back(2.5f);
              placed = true;
            }
            if (e == end) break;
            expected_indices.push_back(m.indices[static_cast<size_t>(e)]);
            expected_values.push_back(weighted ? v[static_cast<size_t>(e)] : 1.0f);
          }
          expected_offsets.push_back(static_cast<int64_t>(expected_indices.size()));
        }
        Tensor offsets = Tensor::empty({coo.rows + 1}, DType::i64, device);
        kernels::diagonal_offsets({.a = m.csr, .offsets = offsets});
        REQUIRE(offsets.to_vector<int64_t>() == expected_offsets);
        Tensor indices = Tensor::empty({expected_offsets.back()}, DType::i32, device);
        Tensor with = Tensor::empty({expected_offsets.back()}, DType::f32, device);
        kernels::insert_diagonal({.a = {m.csr, weighted ? value : Tensor{}, {}},
                                  .fill = 2.5f,
                                  .offsets = offsets,
                                  .indices = indices,
                                  .values = with});
        CHECK(indices.to_vector<int32_t>() == expected_indices);
        CHECK(with.to_vector<float>() == expected_values);
      }
    }
  }
}

TEST_CASE("gcn_normalize divides by the roots of the row sums") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    for (const EntryList& coo : {EntryList{3, 3, {}, {}}, square(50, 60), square(3001, 9000), at_boundaries()}) {
      const Matrix m = matrix_of(coo, device);
      const int64_t entries = m.csr.entries();
      for (bool weighted : {false, true}) {
        Tensor value = weighted ? positive_values(entries, device) : Tensor{};
        const std::vector<double> v =
            weighted ? values(value) : std::vector<double>(static_cast<size_t>(entries), 1.0);
        std::vector<double> d(static_cast<size_t>(coo.rows), 0.0), expected, by_row;
        for (size_t i = 0; i < d.size(); ++i)
          for (auto e = static_cast<size_t>(m.offsets[i]); e < static_cast<size_t>(m.offsets[i + 1]); ++e)
            d[i] += v[e];
        for (size_t i = 0; i < d.size(); ++i)
          for (auto e = static_cast<size_t>(m.offsets[i]); e < static_cast<size_t>(m.offsets[i + 1]); ++e) {
            const double d_j = d[static_cast<size_t>(m.indices[e])];
            expected.push_back(d_j > 0.0 ? v[e] / std::sqrt(d[i] * d_j) : 0.0);
            by_row.push_back(v[e] / d[i]);
          }
        Tensor degree = Tensor::empty({coo.rows}, DType::f32, device);
        Tensor weights = Tensor::empty({entries}, DType::f32, device);
        kernels::row_normalize_entries({.a = {m.csr, value, {}}, .weights = weights});
        CHECK(close(weights, by_row, 1e-6));
        kernels::gcn_normalize({.a = {m.csr, value, {}}, .degree = degree, .weights = weights});
        CHECK(close(degree, d, 1e-6));
        CHECK(close(weights, expected, 1e-6));
        if (weighted) {
          kernels::gcn_normalize({.a = {m.csr, value, {}}, .degree = degree, .weights = value});
          CHECK(same_bits(weights, value));
        }
      }
    }
  }
}

TEST_CASE("rows that sum to nothing or less give weight 0") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    // Row 0: 1 - 1; row 1: -2; row 2: 4.
    Csr csr{3, 3, Tensor::from(std::vector<int64_t>{0, 2, 3, 6}, device),
            Tensor::from(std::vector<int32_t>{0, 1, 2, 0, 1, 2}, device)};
    const Tensor value = Tensor::from(std::vector<float>{1, -1, -2, 1, 1, 2}, device);
    Tensor degree = Tensor::empty({3}, DType::f32, device), weights = Tensor::empty({6}, DType::f32, device);
    kernels::gcn_normalize({.a = {csr, value, {}}, .degree = degree, .weights = weights});
    CHECK(values(degree) == std::vector<double>{0, -2, 4});
    CHECK(values(weights) == std::vector<double>{0, 0, 0, 0, 0, 0.5});
    kernels::row_normalize_entries({.a = {csr, value, {}}, .weights = weights});
    CHECK(values(weights) == std::vector<double>{0, 0, 1, 0.25, 0.25, 0.5});
  }
}

TEST_CASE("sparse structures move between devices and are checked") {
  const Matrix m = matrix_of(square(50, 60), Device::cpu());
  for (Device device : devices()) {
    const Csr there = m.csr.to(device);
    CHECK(there.device() == device);
    CHECK(there.indices.to_vector<int32_t>() == m.indices);
    CHECK(there.offsets.to_vector<int64_t>() == m.offsets);
    CHECK((there.cache == m.csr.cache) == device.is_cpu());
  }
  Tensor wrong = Tensor::empty({3}, DType::i32);
  CHECK_THROWS_WITH_AS(kernels::expand_rows({.a = m.csr, .row = wrong}),
                       doctest::Contains("expand_rows: row is [3] int32 on cpu, expected"), Error);
  Tensor offsets = Tensor::empty({50}, DType::i64);
  CHECK_THROWS_AS(kernels::diagonal_offsets({.a = m.csr, .offsets = offsets}), Error);
  Csr oblong = m.csr;
  oblong.cols = 60;
  Tensor degree = Tensor::empty({50}), weights = Tensor::empty({m.csr.entries()});
  CHECK_THROWS_WITH_AS(kernels::gcn_normalize({.a = {oblong, {}, {}}, .degree = degree, .weights = weights}),
                       doctest::Contains("expected a square matrix, got [50, 60]"), Error);
}

TEST_CASE("gcn_normalize gives 0 where a sum is not positive, and shows one that is not a number") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    // Row 0 sums to -1, row 1 to 0, row 2 to 4, row 3 to NaN.
    Csr csr;
    csr.rows = csr.cols = 4;
    csr.offsets = Tensor::from(std::vector<int64_t>{0, 1, 2, 4, 6}, device);
    csr.indices = Tensor::from(std::vector<int32_t>{2, 2, 1, 2, 2, 3}, device);
    const Tensor values = Tensor::from(std::vector<float>{-1, 0, 3, 1, 2, NAN}, device);
    Tensor degree = Tensor::empty({4}, DType::f32, device), weights = Tensor::empty({6}, DType::f32, device);
    kernels::gcn_normalize({.a = {csr, values, {}}, .degree = degree, .weights = weights});
    const std::vector<float> got = weights.to_vector<float>();
    CHECK(std::vector<float>(got.begin(), got.begin() + 4) == std::vector<float>{0, 0, 0, 0.25f});
    CHECK(std::isnan(got[4]));
    CHECK(std::isnan(got[5]));
  }
}
