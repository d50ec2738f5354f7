#pragma once

#include "../bench/ops/op.h"
#include "support.h"
#include <adjoint/graph/relation.h>
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

/// [rows, cols]; row i has the columns row(i), sorted here if `ascending`.
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

/// A list of entries on the host.
struct HostCoo {
  int64_t rows, cols;
  std::vector<int32_t> row, col;
  bool loops = false;  ///< one of each row at the end

  Coo to(Device device) const {
    return {rows, cols, Tensor::from(row, device), Tensor::from(col, device), loops ? rows : 0};
  }
  int64_t entries() const { return std::ssize(row); }
  /// f(row, column, entry) for every entry, in order.
  template <class F>
  void each(F&& f) const {
    for (size_t e = 0; e < row.size(); ++e) f(uz(row[e]), uz(col[e]), e);
  }
};

inline HostCoo random_list(int64_t rows, int64_t cols, int64_t entries) {
  return {rows, cols, random_indices(entries, rows), random_indices(entries, cols)};
}

/// A square list, and one loop of each row.
inline HostCoo with_loops(HostCoo list) {
  for (int32_t i = 0; i < list.rows; ++i) list.row.push_back(i), list.col.push_back(i);
  list.loops = true;
  return list;
}

/// Rows of these lengths with random columns, equal ones allowed.
inline HostCsr random_structure(const std::vector<int64_t>& lengths, int64_t cols, Device device = {},
                                bool ascending = true) {
  return structure_of(
      std::ssize(lengths), cols, [&](size_t i) { return random_indices(lengths[i], cols); }, device,
      ascending);
}

/// 300 rows: short and empty ones, two of medium length, and two, one of them the last, that every method
/// splits into parts.
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

/// A structure and its transpose; edges are numbered in entry order or, optionally, in another order.
struct Edges : HostCsr {
  Csr transposed;
  Tensor order, transposed_order;
  std::vector<int32_t> edge;

  Edges(HostCsr structure, bool ordered) : HostCsr(std::move(structure)), edge(indices.size()) {
    const Device device = csr.device();
    std::iota(edge.begin(), edge.end(), 0);
    if (ordered) {
      edge = shuffled(edge.size());
      order = Tensor::from(edge, device);
    }
    const Relation relation = Relation::from_csr(csr);
    transposed = relation.transposed();
    std::vector<int32_t> edges = relation.transposed_order().to_vector<int32_t>();
    for (int32_t& e : edges) e = edge[uz(e)];
    transposed_order = Tensor::from(edges, device);
  }
  Edges(const std::vector<std::vector<int32_t>>& rows, int64_t cols, bool ordered, Device device)
      : Edges(structure_of(
                  std::ssize(rows), cols, [&](size_t i) { return rows[i]; }, device),
              ordered) {}

  operator ops::Links() const { return {csr, transposed, order, transposed_order}; }
  CsrMatrix a(const Tensor& values = {}) const { return {csr, values, order}; }
  CsrMatrix at() const { return {transposed, {}, transposed_order}; }
  int64_t rows() const { return csr.rows; }
  int64_t cols() const { return csr.cols; }
  int64_t count() const { return csr.entries(); }
  /// f(target, source, edge) for every edge.
  template <class F>
  void each(F&& f) const {
    HostCsr::each([&](size_t i, size_t j, size_t entry) { f(i, j, uz(edge[entry])); });
  }
};

/// Σ w x_j over the entries (i, j) of each row; w [M], [M, H] or absent: all 1. `s` has each() of HostCsr.
template <class Structure>
Numbers plain_spmm(const Structure& s, int64_t rows, const Tensor& w, const Tensor& x) {
  const Numbers W = w ? values(w) : Numbers(), X = values(x);
  const size_t heads = uz(kernels::heads_of(w)), columns = uz(x.size(1)), width = columns / heads;
  Numbers y(uz(rows) * columns);
  s.each([&](size_t i, size_t j, size_t e) {
    for (size_t f = 0; f < columns; ++f)
      y[i * columns + f] += (w ? W[e * heads + f / width] : 1.0) * X[j * columns + f];
  });
  return y;
}

}  // namespace adj::test
