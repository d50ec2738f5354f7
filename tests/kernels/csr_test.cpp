#include "../structures.h"
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
    return std::pair(row[uz(a)], col[uz(a)]) < std::pair(row[uz(b)], col[uz(b)]);
  });
  result.offsets.assign(uz(rows) + 1, 0);
  for (int32_t i : row) ++result.offsets[uz(i) + 1];
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  for (int32_t e : result.order) result.indices.push_back(col[uz(e)]);
  return result;
}

/// Empty, one-sided, duplicated, skewed (half the entries in one row), with rows in order, sorted but for the
/// last entry, sorted altogether (the last rows empty), two sorted lists in one, and with many buckets.
std::vector<HostCoo> lists() {
  std::vector<HostCoo> result{{0, 0, {}, {}}, {5, 3, {}, {}}, {1, 1, {0, 0, 0}, {0, 0, 0}}};
  const auto add = [&](int64_t rows, int64_t cols, int64_t entries) {
    return &result.emplace_back(random_list(rows, cols, entries));
  };
  add(7, 11, 40);
  add(64, 1, 1000);
  add(1000, 1000, 3000);
  HostCoo* skewed = add(3000, 2000, 150001);
  for (size_t e = 0; e < skewed->row.size(); e += 2) skewed->row[e] = 1234;
  HostCoo* ordered = add(500, 500, 5000);
  std::sort(ordered->row.begin(), ordered->row.end());
  for (const bool broken : {true, false}) {
    HostCoo* sorted = add(4000, 300, 90001);
    for (int32_t& row : sorted->row) row = std::min(row, 3000);
    std::sort(sorted->row.begin(), sorted->row.end());
    sorted->col = sort_plainly(sorted->row, sorted->col, sorted->rows).indices;
    if (broken) sorted->row.back() = 2;
  }
  for (int32_t half : {256, 4096, 32768, 65536}) {  // two sorted halves: no parallel entries
    HostCoo* twice = add(half, 9, 2 * int64_t{half});
    for (int32_t e = 0; e < 2 * half; ++e) twice->row[uz(e)] = e % half;
  }
  add(150000, 70000, 200000);
  return result;
}

HostCsr matrix_of(const HostCoo& coo, Device device) {
  Sorted sorted = sort_plainly(coo.row, coo.col, coo.rows);
  const Csr csr{coo.rows, coo.cols, Tensor::from(sorted.offsets, device),
                Tensor::from(sorted.indices, device)};
  return {csr, std::move(sorted.offsets), std::move(sorted.indices)};
}

/// Calls f(matrix, list) for every list.
template <class F>
void for_matrices(const std::vector<HostCoo>& coos, F f) {
  for (Device device : devices())
    for (const HostCoo& coo : coos) {
      CAPTURES(coo.rows, coo.row.size());
      f(matrix_of(coo, device), coo);
    }
}

/// Runs sort(offsets, indices, order), which writes to these tensors, and compares them.
template <class F>
void check_sorted(const Sorted& expected, Device device, F sort) {
  Tensor offsets = Tensor::empty({std::ssize(expected.offsets)}, DType::i64, device);
  Tensor indices = Tensor::empty({std::ssize(expected.indices)}, DType::i32, device);
  Tensor order = Tensor::empty_like(indices);
  sort(offsets, indices, order);
  CHECK(offsets.to_vector<int64_t>() == expected.offsets);
  CHECK(indices.to_vector<int32_t>() == expected.indices);
  CHECK(order.to_vector<int32_t>() == expected.order);
}
void check_coo_to_csr(const HostCoo& coo, const Sorted& expected, Device device) {
  check_sorted(expected, device, [&](Tensor& offsets, Tensor& indices, Tensor& order) {
    kernels::coo_to_csr({.row = Tensor::from(coo.row, device),
                         .col = Tensor::from(coo.col, device),
                         .cols = coo.cols,
                         .offsets = offsets,
                         .indices = indices,
                         .order = order});
  });
}

/// Calls f(a, value) for ones, for random values, and for values in reverse order; value(e) is that of the
/// e-th entry.
template <class F>
void for_values(const HostCsr& m, F f) {
  const Device device = m.csr.device();
  const Tensor value = random_tensor({m.csr.entries()}, DType::f32, device);
  std::vector<int32_t> reversed(m.indices.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const std::vector<float> v = value.to_vector<float>();
  f(CsrMatrix{m.csr, {}, {}}, [](size_t) { return 1.0f; });
  f(CsrMatrix{m.csr, value, {}}, [&](size_t e) { return v[e]; });
  f(CsrMatrix{m.csr, value, Tensor::from(reversed, device)}, [&](size_t e) { return v[uz(reversed[e])]; });
}

/// Square, some rows with a diagonal entry and some without, empty rows, duplicates.
HostCoo square(int64_t n, int64_t entries) {
  HostCoo coo = random_list(n, n, entries);
  for (int32_t i = 0; i < n; i += 3) coo.row.push_back(i), coo.col.push_back(i);
  return coo;
}

}  // namespace

TEST_CASE("coo_to_csr sorts stably by row and column") {
  for (Device device : devices())
    for (const HostCoo& coo : lists()) {
      CAPTURES(coo.rows, coo.row.size());
      const Sorted expected = sort_plainly(coo.row, coo.col, coo.rows);
      for (int threads : {1, 2, 4}) {
        const Threads scope(threads);
        check_coo_to_csr(coo, expected, device);
      }
    }
}

TEST_CASE("coo_to_csr sorts columns by all bits") {
  for (Device device : devices()) {
    const int32_t cols = std::numeric_limits<int32_t>::max() - 1;
    const HostCoo coo = random_list(7, cols, 20001);
    check_coo_to_csr(coo, sort_plainly(coo.row, coo.col, 7), device);
  }
}

TEST_CASE("join_rows appends the rows of one structure to those of another") {
  for (Device device : devices())
    for (const HostCoo& coo : lists()) {
      HostCoo other{coo.rows, coo.cols, {}, {}};
      for (size_t e = 0; e < coo.row.size(); e += 3) {  // some rows are in one only
        other.row.push_back(coo.row[e] / 2);
        other.col.push_back(coo.col[e]);
      }
      const HostCsr a = matrix_of(coo, device), b = matrix_of(other, device);
      const Tensor a_value = random_ints(a.csr.entries(), 0, 1000, device);
      const Tensor b_value = random_ints(b.csr.entries(), 0, 1000, device);
      Sorted expected{{0}, {}, {}};
      const auto append = [](std::vector<int32_t>& output, const std::vector<int32_t>& input,
                             const HostCsr& m, size_t i) {
        output.insert(output.end(), input.begin() + m.offsets[i], input.begin() + m.offsets[i + 1]);
      };
      const auto first = a_value.to_vector<int32_t>(), second = b_value.to_vector<int32_t>();
      for (size_t i = 0; i < uz(coo.rows); ++i) {
        append(expected.indices, a.indices, a, i);
        append(expected.indices, b.indices, b, i);
        append(expected.order, first, a, i);
        append(expected.order, second, b, i);
        expected.offsets.push_back(std::ssize(expected.indices));
      }
      check_sorted(expected, device, [&](Tensor& offsets, Tensor& indices, Tensor& joined) {
        kernels::join_rows({.a = a.csr,
                            .b = b.csr,
                            .a_value = a_value,
                            .b_value = b_value,
                            .offsets = offsets,
                            .indices = indices,
                            .values = joined});
      });
    }
}

TEST_CASE("transpose is stable") {
  for_matrices(lists(), [](const HostCsr& m, const HostCoo& coo) {
    Tensor row = Tensor::empty({m.csr.entries()}, DType::i32, m.csr.device());
    kernels::expand_rows({.a = m.csr, .row = row});
    const std::vector<int32_t> rows = row.to_vector<int32_t>();
    m.each([&](size_t i, size_t, size_t e) { REQUIRE(uz(rows[e]) == i); });
    check_sorted(sort_plainly(m.indices, rows, coo.cols), m.csr.device(),
                 [&](Tensor& offsets, Tensor& indices, Tensor& order) {
                   kernels::transpose({.a = m.csr, .offsets = offsets, .indices = indices, .order = order});
                 });
  });
}

TEST_CASE("row_sums adds values, through an order, or counts entries") {
  for_matrices(lists(), [](const HostCsr& m, const HostCoo& coo) {
    for_values(m, [&](const CsrMatrix& a, auto value) {
      Numbers expected(uz(coo.rows), 0.0);
      m.each([&](size_t i, size_t, size_t e) { expected[i] += static_cast<double>(value(e)); });
      Tensor y = Tensor::empty({coo.rows}, DType::f32, m.csr.device());
      kernels::row_sums({.a = a, .y = y});
      CHECK(close(y, expected));
    });
  });
}

TEST_CASE("csr_to_dense sums parallel entries in order, and is zero elsewhere") {
  for_matrices(lists(), [](const HostCsr& m, const HostCoo& coo) {
    if (coo.rows * coo.cols > 10'000'000) return;
    for_values(m, [&](const CsrMatrix& a, auto value) {
      std::vector<float> expected(uz(coo.rows * coo.cols), 0.0f);
      m.each([&](size_t i, size_t j, size_t e) { expected[i * uz(coo.cols) + j] += value(e); });
      Tensor y = Tensor::full({coo.rows, coo.cols}, 7.0, DType::f32, m.csr.device());
      kernels::csr_to_dense({.a = a, .y = y});
      CHECK(y.to_vector<float>() == expected);
    });
  });
}

TEST_CASE("a diagonal is added to rows that have none") {
  for (Device device : devices())
    for (const HostCoo& coo :
         {HostCoo{0, 0, {}, {}}, HostCoo{4, 4, {}, {}}, square(50, 60), square(3001, 9000)}) {
      const HostCsr m = matrix_of(coo, device);
      const Tensor value = random_tensor({m.csr.entries()}, DType::f32, device);
      const std::vector<float> v = value.to_vector<float>();
      for (bool weighted : {false, true}) {
        std::vector<int64_t> expected_offsets{0};
        std::vector<int32_t> expected_indices;
        std::vector<float> expected_values;
        for (int32_t i = 0; i < coo.rows; ++i) {
          const auto begin = m.offsets[uz(i)], end = m.offsets[uz(i) + 1];
          std::vector<int32_t> columns(m.indices.begin() + begin, m.indices.begin() + end);
          std::vector<float> numbers(columns.size(), 1.0f);
          if (weighted) numbers.assign(v.begin() + begin, v.begin() + end);
          const auto place = std::lower_bound(columns.begin(), columns.end(), i);
          if (place == columns.end() || *place != i) {
            numbers.insert(numbers.begin() + (place - columns.begin()), 2.5f);
            columns.insert(place, i);
          }
          expected_indices.insert(expected_indices.end(), columns.begin(), columns.end());
          expected_values.insert(expected_values.end(), numbers.begin(), numbers.end());
          expected_offsets.push_back(std::ssize(expected_indices));
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

TEST_CASE("gcn_normalize divides by the roots of the row sums") {
  for (Device device : devices())
    for (const HostCsr& m :
         {matrix_of({3, 3, {}, {}}, device), matrix_of(square(50, 60), device),
          matrix_of(square(3001, 9000), device),
          random_structure(lengths_at_boundaries(), std::ssize(lengths_at_boundaries()), device)}) {
      const int64_t entries = m.csr.entries();
      for (bool weighted : {false, true}) {
        Tensor value =
            weighted ? random_uniform({entries}, 0.1, 3.0, default_generator()).to(device) : Tensor{};
        const Numbers v = weighted ? values(value) : Numbers(uz(entries), 1.0);
        Numbers d(uz(m.csr.rows)), expected, by_row;
        m.each([&](size_t i, size_t, size_t e) { d[i] += v[e]; });
        m.each([&](size_t i, size_t j, size_t e) {
          expected.push_back(d[j] > 0.0 ? v[e] / std::sqrt(d[i] * d[j]) : 0.0);
          by_row.push_back(v[e] / d[i]);
        });
        Tensor degree = Tensor::empty({m.csr.rows}, DType::f32, device);
        Tensor weights = Tensor::empty({entries}, DType::f32, device);
        kernels::row_normalize_entries({.a = {m.csr, value, {}}, .weights = weights});
        CHECK(close(weights, by_row, 1e-6));
        kernels::gcn_normalize({.a = {m.csr, value, {}}, .degree = degree, .weights = weights});
        CHECK(close(degree, d, 1e-6));
        CHECK(close(weights, expected, 1e-6));
        // By the sums of a matrix of which these are some rows, and as its transpose has them.
        std::vector<float> twice = degree.to_vector<float>();
        for (float& sum : twice) sum *= 2;
        Tensor all = Tensor::from(twice, device), of_part = Tensor::empty_like(weights);
        kernels::gcn_normalize({.a = {m.csr, value, {}}, .degree = all, .weights = of_part, .known = true});
        CHECK(all.to_vector<float>() == twice);
        Numbers half = expected;
        for (double& w : half) w /= 2;
        CHECK(close(of_part, half, 1e-6));
        kernels::row_normalize_entries({.a = {m.csr, value, {}}, .weights = of_part, .column_sums = degree});
        Numbers by_column;
        m.each([&](size_t, size_t j, size_t e) { by_column.push_back(d[j] != 0.0 ? v[e] / d[j] : 0.0); });
        CHECK(close(of_part, by_column, 1e-6));
        if (weighted) {
          kernels::gcn_normalize({.a = {m.csr, value, {}}, .degree = degree, .weights = value});
          CHECK(same_bits(weights, value));
        }
      }
    }
}

TEST_CASE("normalised weights are 0 if a row sums to 0 or less, and NaN if it sums to NaN") {
  for (Device device : devices()) {
    const auto normalized = [&](int64_t n, const std::vector<int64_t>& offsets,
                                const std::vector<int32_t>& indices, const std::vector<float>& value) {
      const Csr csr{n, n, Tensor::from(offsets, device), Tensor::from(indices, device)};
      const CsrMatrix a{csr, Tensor::from(value, device), {}};
      Tensor degree = Tensor::empty({n}, DType::f32, device),
             weights = Tensor::empty({a.values.numel()}, DType::f32, device), by_row = weights.clone();
      kernels::gcn_normalize({.a = a, .degree = degree, .weights = weights});
      kernels::row_normalize_entries({.a = a, .weights = by_row});
      return std::array{values(degree), values(weights), values(by_row)};
    };

    // Row 0: 1 - 1; row 1: -2; row 2: 4.
    const auto [degree, weights, by_row] =
        normalized(3, {0, 2, 3, 6}, {0, 1, 2, 0, 1, 2}, {1, -1, -2, 1, 1, 2});
    CHECK(degree == Numbers{0, -2, 4});
    CHECK(weights == Numbers{0, 0, 0, 0, 0, 0.5});
    CHECK(by_row == Numbers{0, 0, 1, 0.25, 0.25, 0.5});
    // Row 0 sums to -1, row 1 to 0, row 2 to 4, row 3 to NaN.
    const Numbers got = normalized(4, {0, 1, 2, 4, 6}, {2, 2, 1, 2, 2, 3}, {-1, 0, 3, 1, 2, NAN})[1];
    CHECK(Numbers(got.begin(), got.begin() + 4) == Numbers{0, 0, 0, 0.25});
    CHECK(std::isnan(got[4]));
    CHECK(std::isnan(got[5]));
  }
}

TEST_CASE("sparse structures are copied between devices and checked") {
  const HostCsr m = matrix_of(square(50, 60), Device::cpu());
  for (Device device : devices()) {
    const Csr copy = m.csr.to(device);
    CHECK(copy.device() == device);
    CHECK(copy.indices.to_vector<int32_t>() == m.indices);
    CHECK(copy.offsets.to_vector<int64_t>() == m.offsets);
    CHECK((copy.cache == m.csr.cache) == device.is_cpu());
  }
  Tensor wrong = Tensor::empty({3}, DType::i32);
  CHECK_ERROR_HAS(kernels::expand_rows({.a = m.csr, .row = wrong}),
                  "expand_rows: row is [3] int32 on cpu, expected");
  Tensor offsets = Tensor::empty({50}, DType::i64);
  CHECK_THROWS_AS(kernels::diagonal_offsets({.a = m.csr, .offsets = offsets}), Error);
  Csr oblong = m.csr;
  oblong.cols = 60;
  Tensor degree = Tensor::empty({50}), weights = Tensor::empty({m.csr.entries()});
  CHECK_ERROR_HAS(kernels::gcn_normalize({.a = {oblong, {}, {}}, .degree = degree, .weights = weights}),
                  "expected a square matrix, got [50, 60]");
}
