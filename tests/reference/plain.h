#pragma once

#include "../support.h"
#include <adjoint/autograd/gradient_check.h>
#include <adjoint/core/random.h>
#include <adjoint/graph/graph.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

// References for tests of ops and layers: dense float64 matrices, plain loops, and inputs that depend only on
// a test's seed.

namespace adj::test {

/// A row-major matrix.
struct Dense {
  int64_t rows = 0, cols = 0;
  std::vector<double> data;

  Dense(int64_t r, int64_t c) : rows(r), cols(c), data(static_cast<size_t>(r * c)) {}
  explicit Dense(const Tensor& t) : rows(t.size(0)), cols(t.dims() == 1 ? 1 : t.size(1)), data(values(t)) {}
  double& operator()(int64_t i, int64_t j) { return data[static_cast<size_t>(i * cols + j)]; }
  double operator()(int64_t i, int64_t j) const { return data[static_cast<size_t>(i * cols + j)]; }
};

inline Dense operator*(const Dense& a, const Dense& b) {
  REQUIRE(a.cols == b.rows);
  Dense c(a.rows, b.cols);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < a.cols; ++k)
      for (int64_t j = 0; j < b.cols; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}

inline Dense transposed(const Dense& a) {
  Dense t(a.cols, a.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.cols; ++j) t(j, i) = a(i, j);
  return t;
}

inline Dense plus_row(Dense a, const Tensor& row) {
  const std::vector<double> r = values(row);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.cols; ++j) a(i, j) += r[static_cast<size_t>(j)];
  return a;
}

template <class F>
Dense mapped(Dense a, F&& f) {
  for (double& x : a.data) x = f(x);
  return a;
}

/// Σ (a - b)² over all numbers.
inline double squared_error(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = values(a), y = values(b);
  double sum = 0.0;
  for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

inline double relu_of(double x) { return x > 0.0 ? x : 0.0; }

/// Dense copy of a sparse matrix; duplicate entries are summed.
inline Dense dense_of(const SparseMatrix& a) {
  Dense d(a.rows(), a.cols());
  const Csr& csr = a.relation().csr();
  const auto offsets = csr.offsets.to_vector<int64_t>();
  const auto indices = csr.indices.to_vector<int32_t>();
  const auto entries = a.values() ? values(a.values()) : std::vector<double>(indices.size(), 1.0);
  for (int64_t i = 0; i < a.rows(); ++i)
    for (auto e = static_cast<size_t>(offsets[static_cast<size_t>(i)]);
         e < static_cast<size_t>(offsets[static_cast<size_t>(i) + 1]); ++e)
      d(i, indices[e]) += entries[e];
  return d;
}

/// D^-1/2 (A + I) D^-1/2 from an edge list (GCN eq. 2); a self-loop is added to nodes without one.
inline Dense gcn_of(int64_t nodes, const Tensor& src, const Tensor& dst, const Tensor& weight = {}) {
  const auto from = src.to(DType::i32).to_vector<int32_t>(), to = dst.to(DType::i32).to_vector<int32_t>();
  const auto w = weight ? values(weight) : std::vector<double>(from.size(), 1.0);
  Dense a(nodes, nodes);
  std::vector<bool> looped(static_cast<size_t>(nodes));
  for (size_t e = 0; e < from.size(); ++e) {
    a(to[e], from[e]) += w[e];
    if (from[e] == to[e]) looped[static_cast<size_t>(to[e])] = true;
  }
  std::vector<double> degree(static_cast<size_t>(nodes));
  for (int64_t i = 0; i < nodes; ++i) {
    if (!looped[static_cast<size_t>(i)]) a(i, i) += 1.0;
    for (int64_t j = 0; j < nodes; ++j) degree[static_cast<size_t>(i)] += a(i, j);
  }
  for (int64_t i = 0; i < nodes; ++i)
    for (int64_t j = 0; j < nodes; ++j)
      a(i, j) /= std::sqrt(degree[static_cast<size_t>(i)] * degree[static_cast<size_t>(j)]);
  return a;
}

/// Random inputs that depend on the seed and on earlier calls in the same test.
class Draw {
 public:
  explicit Draw(uint64_t seed, Device device = {}, DType dtype = DType::f64)
      : generator_(seed), device_(device), dtype_(dtype) {}

  Tensor normal(Shape shape) { return random_normal(shape, 0.0, 1.0, generator_, dtype_, device_); }
  Tensor uniform(Shape shape, double low, double high) {
    return random_uniform(shape, low, high, generator_, dtype_, device_);
  }
  /// Normal numbers moved away from zero by 0.1, so that a gradient check does not cross a kink there.
  Tensor off_zero(Shape shape) {
    std::vector<double> x = values(normal(shape));
    for (double& v : x) v += v < 0.0 ? -0.1 : 0.1;
    return Tensor::from(x, shape).to(dtype_).to(device_);
  }
  /// int32 in [low, high).
  Tensor ints(int64_t n, int32_t low, int32_t high) {
    const auto x = values(random_uniform({n}, low, high, generator_, DType::f64));
    std::vector<int32_t> whole;
    for (double v : x) whole.push_back(std::min(static_cast<int32_t>(std::floor(v)), high - 1));
    return Tensor::from(whole, device_);
  }
  /// k distinct int32 of [0, n), unordered.
  Tensor distinct(int64_t k, int64_t n) {
    const auto key = values(random_uniform({n}, 0.0, 1.0, generator_, DType::f64));
    std::vector<int32_t> all(static_cast<size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    std::stable_sort(all.begin(), all.end(), [&](int32_t a, int32_t b) {
      return key[static_cast<size_t>(a)] < key[static_cast<size_t>(b)];
    });
    all.resize(static_cast<size_t>(k));
    return Tensor::from(all, device_);
  }
  /// [rows, cols] with `entries` random entries, some duplicate; row 0 is empty and row 1 has many.
  SparseMatrix sparse(int64_t rows, int64_t cols, int64_t entries, bool has_values = true) {
    REQUIRE(rows >= 2);
    auto row = ints(entries, 1, static_cast<int32_t>(rows)).to_vector<int32_t>();
    for (size_t e = 0; e < row.size(); e += 3) row[e] = 1;
    const auto col = ints(entries, 0, static_cast<int32_t>(cols)).to_vector<int32_t>();
    std::vector<std::pair<int32_t, int32_t>> sorted;
    for (size_t e = 0; e < row.size(); ++e) sorted.emplace_back(row[e], col[e]);
    std::sort(sorted.begin(), sorted.end());
    std::vector<int64_t> offsets(static_cast<size_t>(rows) + 1);
    std::vector<int32_t> indices;
    for (const auto& [i, j] : sorted) {
      ++offsets[static_cast<size_t>(i) + 1];
      indices.push_back(j);
    }
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    Csr csr;
    csr.rows = rows;
    csr.cols = cols;
    csr.offsets = Tensor::from(offsets, device_);
    csr.indices = Tensor::from(indices, device_);
    return SparseMatrix(Relation::from_csr(std::move(csr)), has_values ? normal({entries}) : Tensor{});
  }
  /// Directed edges among all nodes but the last, some duplicate, without self-loops.
  Graph graph(int64_t nodes, int64_t edges, bool weighted = false) {
    const auto n = static_cast<int32_t>(nodes);
    Tensor src = ints(edges, 0, n - 1), step = ints(edges, 1, n - 1);
    auto from = src.to_vector<int32_t>(), to = step.to_vector<int32_t>();
    for (size_t e = 0; e < from.size(); ++e) to[e] = (from[e] + to[e]) % (n - 1);
    src_ = src;
    dst_ = Tensor::from(to, device_);
    weight_ = weighted ? random_uniform({edges}, 0.25, 2.0, generator_, DType::f32, device_) : Tensor{};
    return Graph::from_coo(nodes, src_, dst_, weight_);
  }
  /// The last drawn graph as a dense GCN matrix, from its edge list.
  Dense gcn(int64_t nodes) const { return gcn_of(nodes, src_, dst_, weight_); }

 private:
  Generator generator_;
  Device device_;
  DType dtype_;
  Tensor src_, dst_, weight_;
};

/// Checks f's gradients for all inputs against central differences.
inline void check(const std::function<Var(const std::vector<Var>&)>& f, const std::vector<Tensor>& inputs) {
  const GradientCheck result = check_gradients(f, inputs);
  INFO(result.message);
  CHECK(result.passed);
}

/// The same, for an f of several lines.
inline void check(const std::vector<Tensor>& inputs, const std::function<Var(const std::vector<Var>&)>& f) {
  check(f, inputs);
}

}  // namespace adj::test
