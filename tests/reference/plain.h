#pragma once

#include "../support.h"
#include <adjoint/autograd/gradient_check.h>
#include <adjoint/core/random.h>
#include <adjoint/graph/graph.h>
#include <adjoint/kernels/aggregate/neighbor_reduce.h>

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

/// x w + b, b being optional.
inline Dense linear_of(const Dense& x, const Tensor& w, const Tensor& b = {}) {
  const Dense y = x * Dense(w);
  return b ? plus_row(y, b) : y;
}

/// Rows index[0], index[1], … of a.
inline Dense gathered(const Dense& a, const Tensor& index) {
  const auto rows = index.to_vector<int32_t>();
  Dense y(std::ssize(rows), a.cols);
  for (int64_t i = 0; i < y.rows; ++i)
    for (int64_t j = 0; j < y.cols; ++j) y(i, j) = a(rows[static_cast<size_t>(i)], j);
  return y;
}

/// The columns of all matrices, in order.
inline Dense joined(const std::vector<Dense>& parts) {
  int64_t cols = 0, offset = 0;
  for (const Dense& part : parts) cols += part.cols;
  Dense y(parts.front().rows, cols);
  for (const Dense& part : parts) {
    for (int64_t i = 0; i < y.rows; ++i)
      for (int64_t j = 0; j < part.cols; ++j) y(i, offset + j) = part(i, j);
    offset += part.cols;
  }
  return y;
}

/// Each target's sum, mean, … over its edges' rows of [M, F]; 0 without edges.
inline Dense reduced(const Relation& relation, const Dense& messages, Reduce reduce) {
  const auto targets = relation.edge_index().dst.to_vector<int32_t>();
  Dense y(relation.num_dst(), messages.cols);
  for (int64_t i = 0; i < y.rows; ++i)
    for (int64_t f = 0; f < y.cols; ++f) {
      std::vector<double> terms;
      for (size_t e = 0; e < targets.size(); ++e)
        if (targets[e] == i) terms.push_back(messages(static_cast<int64_t>(e), f));
      if (terms.empty()) continue;
      const double n = static_cast<double>(terms.size()), sum = std::reduce(terms.begin(), terms.end());
      const double square = std::inner_product(terms.begin(), terms.end(), terms.begin(), 0.0),
                   variance = std::max(0.0, square / n - sum / n * (sum / n));
      const double results[] = {sum,
                                sum / n,
                                *std::max_element(terms.begin(), terms.end()),
                                *std::min_element(terms.begin(), terms.end()),
                                variance,
                                variance > kSmallestVariance ? std::sqrt(variance) : 0.0};
      y(i, f) = results[static_cast<size_t>(reduce)];
    }
  return y;
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

/// Dense copy of a sparse matrix or of a kernel's view of one; duplicate entries are summed.
inline Dense dense_of(const CsrMatrix& a) {
  Dense d(a.csr.rows, a.csr.cols);
  const auto offsets = a.csr.offsets.to_vector<int64_t>();
  const auto indices = a.csr.indices.to_vector<int32_t>();
  const auto order = a.order ? a.order.to_vector<int32_t>() : std::vector<int32_t>();
  const auto entries = a.values ? values(a.values) : std::vector<double>(indices.size(), 1.0);
  for (int64_t i = 0; i < d.rows; ++i)
    for (auto e = static_cast<size_t>(offsets[static_cast<size_t>(i)]);
         e < static_cast<size_t>(offsets[static_cast<size_t>(i) + 1]); ++e)
      d(i, indices[e]) += entries[order.empty() ? e : static_cast<size_t>(order[e])];
  return d;
}
inline Dense dense_of(const SparseMatrix& a) { return dense_of(a.matrix()); }

/// D^-1/2 (A + I) D^-1/2 from an edge list (GCN eq. 2): of several self-loops of a node the last, 1 without
/// one.
inline Dense gcn_of(int64_t nodes, const Tensor& src, const Tensor& dst, const Tensor& weight = {}) {
  const auto sources = src.to(DType::i32).to_vector<int32_t>(),
             targets = dst.to(DType::i32).to_vector<int32_t>();
  const auto w = weight ? values(weight) : std::vector<double>(sources.size(), 1.0);
  Dense a(nodes, nodes);
  std::vector<bool> looped(static_cast<size_t>(nodes));
  for (size_t e = 0; e < sources.size(); ++e) {
    const bool loop = sources[e] == targets[e];
    a(targets[e], sources[e]) = (loop ? 0.0 : a(targets[e], sources[e])) + w[e];
    if (loop) looped[static_cast<size_t>(targets[e])] = true;
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
    const Tensor col = ints(entries, 0, static_cast<int32_t>(cols));
    const Relation list = Relation::from_coo(cols, rows, col, Tensor::from(row, device_));
    return SparseMatrix(list.sorted(), has_values ? normal({entries}) : Tensor{});
  }
  /// Directed edges among all nodes but the last, some duplicate, without self-loops.
  Graph graph(int64_t nodes, int64_t edges, bool weighted = false) {
    const auto n = static_cast<int32_t>(nodes);
    const Tensor src = ints(edges, 0, n - 1), step = ints(edges, 1, n - 1);
    auto sources = src.to_vector<int32_t>(), targets = step.to_vector<int32_t>();
    for (size_t e = 0; e < sources.size(); ++e) targets[e] = (sources[e] + targets[e]) % (n - 1);
    const Tensor weight =
        weighted ? random_uniform({edges}, 0.25, 2.0, generator_, DType::f32, device_) : Tensor{};
    return Graph::from_coo(nodes, src, Tensor::from(targets, device_), weight);
  }

 private:
  Generator generator_;
  Device device_;
  DType dtype_;
};

/// f(draw, device) on every device, with the same numbers.
template <class F>
void on_devices(uint64_t seed, DType dtype, F&& f) {
  on_devices([&](Device device) {
    Draw draw(seed, device, dtype);
    f(draw, device);
  });
}

/// f(inputs), then the gradients of Σ dy f(inputs), by the numbers of `dy`, or by fixed ones that bfloat16
/// holds.
inline std::vector<Tensor> with_gradients(const std::function<Var(const std::vector<Var>&)>& f,
                                          const std::vector<Tensor>& inputs, const Tensor& dy = {}) {
  std::vector<Var> leaves;
  for (const Tensor& input : inputs) leaves.push_back(Var::parameter(input));
  const Var y = f(leaves);
  Generator generator(7);
  const Tensor seed = dy ? dy.reshape({-1}).rows(0, y.value().numel()).reshape(y.shape())
                         : random_normal(y.shape(), 0.0, 1.0, generator, DType::bf16, y.device());
  y.backward(seed.to(y.dtype()));
  std::vector<Tensor> results{y.value()};
  for (const Var& leaf : leaves) results.push_back(leaf.grad());
  return results;
}

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
/// The same for all inputs, and for each alone with the others constant.
inline void check_each(const std::function<Var(const std::vector<Var>&)>& f,
                       const std::vector<Tensor>& inputs) {
  check(f, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(i);
    check({inputs[i]}, [&](const auto& v) {
      std::vector<Var> all(inputs.begin(), inputs.end());
      all[i] = v[0];
      return f(all);
    });
  }
}

}  // namespace adj::test
