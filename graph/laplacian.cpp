#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/davidson.h>
#include <adjoint/graph/detail/neighborhoods.h>
#include <adjoint/graph/laplacian.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <Eigen/Eigenvalues>

namespace adj {

namespace {

using detail::Eigenpairs;
using detail::LaplacianLevel;
using detail::Neighborhoods;

constexpr int64_t kMostDense = 256;    // nodes of a component whose whole matrix is solved
constexpr int64_t kMostSerial = 4096;  // whose loops are too short to share

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

/// The graph of one component; `local` is the place of each of `nodes` among them.
LaplacianLevel subgraph(const Neighborhoods& graph, const std::vector<int32_t>& nodes,
                        const std::vector<int32_t>& local) {
  LaplacianLevel level;
  level.offsets.push_back(0);
  for (const int32_t i : nodes) {
    level.degree.push_back(static_cast<double>(graph.degree(i)));
    level.offsets.push_back(level.offsets.back() + graph.degree(i));
  }
  level.neighbors.reserve(static_cast<size_t>(level.entries()));
  for (const int32_t i : nodes)
    for (const int32_t j : graph.neighbors_of(i)) level.neighbors.push_back(local[static_cast<size_t>(j)]);
  return level;
}

Eigenpairs solve_dense(const LaplacianLevel& level, int64_t count) {
  using Eigen::MatrixXd, Eigen::VectorXd;
  const VectorXd scale =
      Eigen::Map<const VectorXd>(level.degree.data(), level.nodes()).cwiseSqrt().cwiseInverse();
  MatrixXd matrix = MatrixXd::Identity(level.nodes(), level.nodes());
  for (int64_t i = 0, e = 0; i < level.nodes(); ++i)
    for (; e < level.offsets[static_cast<size_t>(i) + 1]; ++e) {
      const int32_t j = level.neighbors[static_cast<size_t>(e)];
      matrix(i, j) = -scale[i] * scale[j];
    }
  const VectorXd first = scale.cwiseInverse().normalized();
  matrix += 3.0 * first * first.transpose();  // its eigenvalue of 0 becomes 3, above all
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solved(matrix);
  const MatrixXd vectors = solved.eigenvectors().leftCols(count);
  const VectorXd values = solved.eigenvalues().head(count);
  Eigenpairs pairs{.values = {values.begin(), values.end()}, .vectors = {}, .products = 0, .residual = 0.0};
  pairs.residual =
      std::sqrt((matrix * vectors - vectors * values.asDiagonal()).colwise().squaredNorm().maxCoeff());
  for (int64_t i = 0; i < level.nodes(); ++i)
    for (int64_t k = 0; k < count; ++k) pairs.vectors.push_back(vectors(i, k));
  return pairs;
}

/// The factor of column k that makes its largest entry positive. Of entries that are the same but for
/// rounding the first decides, on any machine.
double sign_of(const Eigenpairs& pairs, int64_t k) {
  const auto count = std::ssize(pairs.values), size = std::ssize(pairs.vectors);
  double most = 0.0;
  for (int64_t n = k; n < size; n += count)
    most = std::max(most, std::abs(pairs.vectors[static_cast<size_t>(n)]));
  int64_t n = k;
  while (std::abs(pairs.vectors[static_cast<size_t>(n)]) < most * (1.0 - 1e-6)) n += count;
  return pairs.vectors[static_cast<size_t>(n)] < 0.0 ? -1.0 : 1.0;
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
    LaplacianLevel level = subgraph(graph, nodes, local);
    const bool dense = std::ssize(nodes) <= std::max(kMostDense, 2 * detail::davidson_columns(found));
    const Eigenpairs pairs = dense ? solve_dense(level, found) : detail::davidson(std::move(level), found);
    products[c] = pairs.products;
    residuals[c] = pairs.residual;
    for (int64_t k = 0; k < found; ++k) {
      const double sign = sign_of(pairs, k);
      for (size_t i = 0; i < nodes.size(); ++i)
        all[static_cast<size_t>(int64_t{nodes[i]} * count + k)] =
            static_cast<float>(sign * pairs.vectors[i * static_cast<size_t>(found) + static_cast<size_t>(k)]);
    }
  };
  // Large components by themselves, each on all threads; small ones at once, each on one.
  std::vector<size_t> small;
  for (size_t c = 0; c < components.size(); ++c)
    if (std::ssize(components[c]) <= kMostSerial)
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
