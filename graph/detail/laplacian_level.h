#pragma once

#include <adjoint/core/tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace adj::detail {

/// A connected weighted graph, as a level of Multigrid: D - A, where D sums the rows of A.
struct LaplacianLevel {
  std::vector<int64_t> offsets;    ///< [n + 1]
  std::vector<int32_t> neighbors;  ///< by node, both directions, without loops
  std::vector<float> weights;      ///< of `neighbors`; empty if all are 1
  std::vector<double> degree;      ///< [n], sums of weights

  int64_t nodes() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t entries() const { return offsets.empty() ? 0 : offsets.back(); }
  float weight(int64_t e) const { return weights.empty() ? 1.0f : weights[static_cast<size_t>(e)]; }
};

/// Float64 numbers by row, 0 at first. In the memory of a tensor, which has large pages: gathers of rows
/// spend half their time on the addresses of small ones.
class Panel {
 public:
  Panel() = default;
  Panel(int64_t rows, int64_t columns)
      : numbers_(Tensor::zeros({rows, columns}, DType::f64)), data_(numbers_.mutable_data<double>()) {}

  size_t size() const { return numbers_ ? static_cast<size_t>(numbers_.numel()) : 0; }
  double* data() { return data_; }
  const double* data() const { return data_; }
  double& operator[](size_t i) { return data_[i]; }
  const double& operator[](size_t i) const { return data_[i]; }

 private:
  Tensor numbers_;
  double* data_ = nullptr;
};

/// Columns that are multiplied at once: numbers [n, kColumns], by row, so that a neighbour is one cache line.
constexpr int64_t kColumns = 8;

/// y = (D - A) x.
void multiply(const LaplacianLevel& level, const double* x, double* y);
/// y = r - (D - A) x.
void subtract_product(const LaplacianLevel& level, const double* r, const double* x, double* y);
/// y = along x + across D^-1 A x + before y: a step of a recurrence over three terms.
void advance(const LaplacianLevel& level, double along, double across, double before, const double* x,
             double* y);
/// y = x + weight D^-1 (r - (D - A) x): a step of Jacobi's method.
void relax(const LaplacianLevel& level, double weight, const double* r, const double* x, double* y);

/// Nodes in groups, which are the nodes of a coarser level.
struct Aggregates {
  std::vector<int32_t> of_node;  ///< the aggregate of each node, numbered from 0
  std::vector<int32_t> members;  ///< nodes by aggregate
  std::vector<int64_t> offsets;  ///< of an aggregate's members

  explicit Aggregates(std::vector<int32_t> numbers);
  int64_t size() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t begin(int64_t a) const { return offsets[static_cast<size_t>(a)]; }
};
/// Pairs along the heaviest edges, and pairs of these; what finds no partner joins its heaviest neighbour's.
/// `coarse` becomes their graph: weights of edges between two aggregates are summed, those within dropped.
/// Nothing where pairs alone leave more than 85% of the edges, so that coarser levels would cost too much.
std::optional<Aggregates> coarsen(const LaplacianLevel& level, LaplacianLevel& coarse);

}  // namespace adj::detail
