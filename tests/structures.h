#pragma once

#include "support.h"
#include <adjoint/kernels/sparse/csr.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace adj::test {

/// A structure and its two lists on the host.
struct HostCsr {
  Csr csr;
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> indices;

  /// f(row, column, entry) for every entry, in order.
  template <class F>
  void each(F&& f) const {
    for (size_t i = 0; i + 1 < offsets.size(); ++i)
      for (auto e = uz(offsets[i]); e < uz(offsets[i + 1]); ++e) f(i, uz(indices[e]), e);
  }
  double length(size_t row) const { return static_cast<double>(offsets[row + 1] - offsets[row]); }
};

/// [rows, cols]; row i holds the columns row(i), sorted here unless told otherwise.
template <class Row>
HostCsr structure_of(int64_t rows, int64_t cols, Row&& row, Device device = {}, bool ascending = true) {
  HostCsr s;
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<int32_t> columns = row(static_cast<size_t>(i));
    if (ascending) std::sort(columns.begin(), columns.end());
    s.indices.insert(s.indices.end(), columns.begin(), columns.end());
    s.offsets.push_back(static_cast<int64_t>(s.indices.size()));
  }
  s.csr = {rows, cols, Tensor::from(s.offsets, device), Tensor::from(s.indices, device)};
  s.csr.ascending = ascending;
  return s;
}

/// n random numbers in [0, below).
inline std::vector<int32_t> random_indices(int64_t n, int64_t below) {
  return random_ints(n, 0, static_cast<int32_t>(below)).to_vector<int32_t>();
}

/// Rows of these lengths with random columns, equal ones allowed.
inline HostCsr random_structure(const std::vector<int64_t>& lengths, int64_t cols, Device device = {},
                                bool ascending = true) {
  return structure_of(
      std::ssize(lengths), cols, [&](size_t i) { return random_indices(lengths[i], cols); }, device,
      ascending);
}

/// Of 300 rows: short and empty ones, two of medium length, and two, one of them the last, that every method
/// splits into pieces.
inline std::vector<int64_t> skewed_lengths(int64_t heaviest, int64_t last = 9000) {
  std::vector<int64_t> lengths(300);
  for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<int64_t>(i * i % 13);
  lengths[17] = heaviest;
  lengths[120] = 700;
  lengths[121] = 90;
  lengths.back() = last;
  return lengths;
}

/// The numbers below n in a random order.
inline std::vector<int32_t> shuffled(size_t n) {
  std::vector<int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  return order;
}

}  // namespace adj::test
