#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/neighborhoods.h>
#include <adjoint/graph/laplacian.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <Eigen/Eigenvalues>
#include <Spectra/SymEigsSolver.h>

namespace adj {

namespace {

using detail::Neighborhoods;

constexpr int64_t kMostDense = 256;
constexpr double kTolerance = 1e-4;
constexpr int64_t kMostProducts = 2000;

/// The nodes of each connected component, ascending.
std::vector<std::vector<int32_t>> components_of(const Neighborhoods& graph) {
  std::vector<std::vector<int32_t>> components;
  std::vector<char> seen(static_cast<size_t>(graph.nodes()), 0);
  for (int64_t start = 0; start < graph.nodes(); ++start) {
    if (seen[static_cast<size_t>(start)] != 0) continue;
    std::vector<int32_t> queue{static_cast<int32_t>(start)};
    seen[static_cast<size_t>(start)] = 1;
    for (size_t next = 0; next < queue.size(); ++next)
      for (const int32_t j : graph.neighbors_of(queue[next]))
        if (seen[static_cast<size_t>(j)] == 0) {
          seen[static_cast<size_t>(j)] = 1;
          queue.push_back(j);
        }
    std::sort(queue.begin(), queue.end());
    components.push_back(std::move(queue));
  }
  return components;
}

/// I - L of a connected component of two nodes or more, on which the eigenvector of L's first eigenvalue has
/// the value -2 instead of 1, below all: the largest eigenvalues are those that are searched. An operator of
/// Spectra.
class Propagation {
 public:
  using Scalar = double;
  /// `local` is the place of each of `nodes` among them.
  Propagation(const Neighborhoods& graph, const std::vector<int32_t>& nodes,
              const std::vector<int32_t>& local)
      : graph_(graph), nodes_(nodes), local_(local), factor_(rows()), first_(rows()) {
    for (Eigen::Index i = 0; i < rows(); ++i)
      first_[i] = std::sqrt(static_cast<double>(graph.degree(nodes[static_cast<size_t>(i)])));
    factor_ = first_.cwiseInverse();
    first_.normalize();
  }

  Eigen::Index rows() const { return std::ssize(nodes_); }
  Eigen::Index cols() const { return rows(); }

  void perform_op(const double* x, double* y) const {
    ++products_;
    const Eigen::Map<const Eigen::VectorXd> input(x, rows());
    const double along = 3.0 * first_.dot(input);
    parallel_for(rows(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double sum = 0.0;
        for (const int32_t neighbor : graph_.neighbors_of(nodes_[static_cast<size_t>(i)])) {
          const int32_t j = local_[static_cast<size_t>(neighbor)];
          sum += factor_[j] * x[j];
        }
        y[i] = factor_[i] * sum - along * first_[i];
      }
    });
  }

  Eigen::MatrixXd dense() const {
    Eigen::MatrixXd matrix(rows(), rows());
    Eigen::VectorXd unit = Eigen::VectorXd::Zero(rows());
    for (Eigen::Index j = 0; j < rows(); ++j) {
      unit[j] = 1.0;
      perform_op(unit.data(), matrix.col(j).data());
      unit[j] = 0.0;
    }
    return matrix;
  }
  int64_t products() const { return products_; }

 private:
  const Neighborhoods& graph_;
  const std::vector<int32_t>& nodes_;
  const std::vector<int32_t>& local_;
  Eigen::VectorXd factor_, first_;
  mutable int64_t products_ = 0;
};

struct Pairs {
  Eigen::MatrixXd vectors;  ///< by column, eigenvalues of Propagation descending
  Eigen::VectorXd values;
};

Pairs solve_dense(const Propagation& matrix, int64_t count) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved(matrix.dense());  // eigenvalues ascend
  return {solved.eigenvectors().rightCols(count).rowwise().reverse(),
          solved.eigenvalues().tail(count).reverse()};
}

Pairs solve_sparse(Propagation& matrix, int64_t count) {
  const int64_t basis = std::min<int64_t>(4 * count + 16, matrix.rows());
  Spectra::SymEigsSolver<Propagation> solver(matrix, count, basis);
  solver.init();
  const int64_t restarts = std::max<int64_t>(1, kMostProducts / (basis - count));
  solver.compute(Spectra::SortRule::LargestAlge, restarts, kTolerance, Spectra::SortRule::LargestAlge);
  // Its vectors are only those that reached the tolerance: the others are known to less.
  ADJ_CHECK(
      solver.eigenvalues().size() == count,
      "laplacian eigenvectors: {} of {} reached a residual of {:.0e} in {} products over {} nodes; expected "
      "fewer of them",
      solver.eigenvalues().size(), count, kTolerance, matrix.products(), matrix.rows());
  return {solver.eigenvectors(), solver.eigenvalues()};
}

}  // namespace

LaplacianEigenvectors laplacian_eigenvectors(const Relation& relation, int64_t count) {
  ADJ_CHECK(count >= 0, "laplacian eigenvectors: {}, expected 0 or more", count);
  const Neighborhoods graph = detail::neighborhoods("laplacian eigenvectors", relation, false);
  const auto components = components_of(graph);
  std::vector<int32_t> local(static_cast<size_t>(graph.nodes()));
  std::vector<float> sizes(local.size());
  for (const auto& nodes : components)
    for (size_t i = 0; i < nodes.size(); ++i) {
      local[static_cast<size_t>(nodes[i])] = static_cast<int32_t>(i);
      sizes[static_cast<size_t>(nodes[i])] = static_cast<float>(nodes.size());
    }
  std::vector<float> all(static_cast<size_t>(graph.nodes() * count), 0.0f);
  std::vector<double> residuals(components.size(), 0.0);
  std::vector<int64_t> products(components.size(), 0);
  const auto solve = [&](size_t c) {
    const std::vector<int32_t>& nodes = components[c];
    const int64_t found = std::min<int64_t>(count, std::ssize(nodes) - 1);
    if (found == 0) return;
    Propagation matrix(graph, nodes, local);
    const bool dense = std::ssize(nodes) <= kMostDense || std::ssize(nodes) <= 4 * found + 16;
    const Pairs pairs = dense ? solve_dense(matrix, found) : solve_sparse(matrix, found);
    products[c] = dense ? 0 : matrix.products();
    Eigen::VectorXd image(matrix.rows());
    for (int64_t k = 0; k < found; ++k) {
      const auto vector = pairs.vectors.col(k);
      matrix.perform_op(vector.data(), image.data());
      residuals[c] = std::max(residuals[c], (image - pairs.values[k] * vector).norm());
      Eigen::Index largest = 0;
      // Entries that are the same but for rounding: the first decides, on any machine.
      const double most = vector.cwiseAbs().maxCoeff() * (1.0 - 1e-6);
      while (std::abs(vector[largest]) < most) ++largest;
      const double sign = vector[largest] < 0.0 ? -1.0 : 1.0;
      for (size_t i = 0; i < nodes.size(); ++i)
        all[static_cast<size_t>(int64_t{nodes[i]} * count + k)] =
            static_cast<float>(sign * vector[static_cast<Eigen::Index>(i)]);
    }
  };
  std::vector<size_t> small;
  for (size_t c = 0; c < components.size(); ++c)
    if (std::ssize(components[c]) <= kMostDense)
      small.push_back(c);
    else
      solve(c);
  parallel_for(std::ssize(small), 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) solve(small[static_cast<size_t>(k)]);
  });
  return {Tensor::from(all, {graph.nodes(), count}).to(relation.device()),
          Tensor::from(sizes, {graph.nodes(), 1}).to(relation.device()), std::ssize(components),
          std::accumulate(products.begin(), products.end(), int64_t{0}),
          residuals.empty() ? 0.0 : *std::max_element(residuals.begin(), residuals.end())};
}

}  // namespace adj
