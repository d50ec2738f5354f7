#include "../support.h"
#include <adjoint/graph/laplacian.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

using namespace adj;
using namespace adj::test;

namespace {

struct Links {
  int64_t nodes = 0;
  std::vector<int32_t> src, dst;
  void join(int64_t a, int64_t b) {
    src.push_back(static_cast<int32_t>(a));
    dst.push_back(static_cast<int32_t>(b));
  }
  Relation relation() const { return Relation::from_coo(nodes, nodes, Tensor::from(src), Tensor::from(dst)); }
};

Links ring(int64_t n) {
  Links links{n, {}, {}};
  for (int64_t i = 0; i < n; ++i) links.join(i, (i + 1) % n);
  return links;
}
Links mesh(int64_t width) {
  Links links{width * width, {}, {}};
  for (int64_t i = 0; i < links.nodes; ++i) {
    if (i % width + 1 < width) links.join(i, i + 1);
    if (i + width < links.nodes) links.join(i, i + width);
  }
  return links;
}
Links tree(int64_t n) {
  Links links{n, {}, {}};
  for (int64_t i = 1; i < n; ++i) links.join(i, (i - 1) / 2);
  return links;
}
Links star(int64_t n) {
  Links links{n, {}, {}};
  for (int64_t i = 1; i < n; ++i) links.join(0, i);
  return links;
}
Links complete(int64_t n) {
  Links links{n, {}, {}};
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) links.join(i, j);
  return links;
}
/// A clique at the end of a path.
Links lollipop(int64_t clique, int64_t path) {
  Links links = complete(clique);
  links.nodes += path;
  for (int64_t i = clique; i < links.nodes; ++i) links.join(i - 1, i);
  return links;
}
/// A ring, for one component, with random edges: nine of ten within clusters, or towards few nodes.
Links random(int64_t n, bool skewed) {
  Links links = ring(n);
  std::mt19937 draw(1);
  const auto below = [&](int64_t most) { return static_cast<int64_t>(draw() % static_cast<uint64_t>(most)); };
  for (int64_t e = 0; e < 3 * n; ++e) {
    const int64_t a = below(n), size = n / 12, cluster = std::min<int64_t>(a / size, 11);
    if (skewed)
      links.join(a, below(below(below(n) + 1) + 1));
    else
      links.join(a, below(10) < 9 ? cluster * size + below(size) : below(n));
  }
  return links;
}

/// L = I - D^-1/2 A D^-1/2 of all nodes, dense.
using Matrix = std::vector<std::vector<double>>;
Matrix laplacian_of(const Links& links) {
  const auto n = static_cast<size_t>(links.nodes);
  Matrix matrix(n, std::vector<double>(n, 0.0));
  std::vector<double> degree(n, 0.0);
  for (size_t e = 0; e < links.src.size(); ++e) {
    const auto i = static_cast<size_t>(links.src[e]), j = static_cast<size_t>(links.dst[e]);
    if (i != j) matrix[i][j] = matrix[j][i] = -1.0;
  }
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) degree[i] -= matrix[i][j];
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) matrix[i][j] /= std::sqrt(degree[i] * degree[j]);
    matrix[i][i] = 1.0;
  }
  return matrix;
}

/// How many eigenvalues of a symmetric matrix lie below `bound`: the negative pivots of its elimination
/// (Sylvester's law of inertia).
int64_t eigenvalues_below(Matrix matrix, double bound) {
  const size_t n = matrix.size();
  int64_t count = 0;
  for (size_t i = 0; i < n; ++i) matrix[i][i] -= bound;
  for (size_t p = 0; p < n; ++p) {
    const double pivot = matrix[p][p];
    count += pivot < 0.0;
    for (size_t i = p + 1; i < n; ++i) {
      const double factor = matrix[i][p] / pivot;
      if (factor == 0.0) continue;
      for (size_t j = p + 1; j < n; ++j) matrix[i][j] -= factor * matrix[p][j];
    }
  }
  return count;
}

}  // namespace

TEST_CASE("eigenvectors are those of the smallest eigenvalues, by a count of a dense matrix's") {
  const auto check = [](const char* name, const Links& links, int64_t columns) {
    CAPTURES(name, columns);
    const LaplacianEigenvectors found = laplacian_eigenvectors(links.relation(), columns);
    REQUIRE(found.components == 1);
    CHECK(found.products > 0);  // not by the dense solver
    CHECK(found.residual <= 1e-4);
    const Matrix matrix = laplacian_of(links);
    const Numbers all = values(found.vectors);
    const size_t n = matrix.size();
    std::vector<std::vector<double>> vectors;
    double largest = 0.0;
    for (int64_t k = 0; k < columns; ++k) {
      CAPTURES(k);
      std::vector<double> v(n), image(n, 0.0);
      for (size_t i = 0; i < n; ++i) v[i] = all[i * static_cast<size_t>(columns) + static_cast<size_t>(k)];
      double value = 0.0, residual = 0.0;
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) image[i] += matrix[i][j] * v[j];
        value += v[i] * image[i];
      }
      for (size_t i = 0; i < n; ++i) residual += std::pow(image[i] - value * v[i], 2);
      const double bound = std::min(1e-4, 1e-3 * value);
      CHECK(std::sqrt(residual) <= bound + 3e-7);  // float32
      CHECK(value >= largest - 2e-4);              // ascending
      largest = std::max(largest, value);
      vectors.push_back(v);
      for (int64_t other = 0; other <= k; ++other) {
        double product = 0.0;
        for (size_t i = 0; i < n; ++i) product += v[i] * vectors[static_cast<size_t>(other)][i];
        CHECK(product == doctest::Approx(other == k ? 1.0 : 0.0).epsilon(1e-5));
      }
      if (k % 3 != 0 && k + 1 != columns) continue;
      CHECK(eigenvalues_below(matrix, value - 2.0 * bound) <= k + 1);  // with the eigenvalue 0
      CHECK(eigenvalues_below(matrix, value + 2.0 * bound) >= k + 2);
    }
  };
  check("ring", ring(300), 8);  // pairs of equal eigenvalues
  check("mesh", mesh(18), 8);
  check("tree", tree(300), 8);
  check("lollipop", lollipop(20, 280), 8);
  check("star", star(300), 8);  // the eigenvalue 1, 298 times
  check("complete", complete(270), 5);
  check("clusters", random(300, false), 8);
  check("skewed", random(300, true), 1);
  check("many columns", random(300, true), 40);
}

TEST_CASE("components do not change each other's eigenvectors, nor do threads") {
  const Links first = mesh(70), second = random(4800, false);
  Links both = first;
  both.nodes += second.nodes;
  for (size_t e = 0; e < second.src.size(); ++e)
    both.join(second.src[e] + first.nodes, second.dst[e] + first.nodes);
  const auto vectors_of = [](const Links& links) {
    return laplacian_eigenvectors(links.relation(), 6).vectors;
  };
  const Tensor together = vectors_of(both);
  Numbers apart = values(vectors_of(first));
  const Numbers rest = values(vectors_of(second));
  apart.insert(apart.end(), rest.begin(), rest.end());
  CHECK(values(together) == apart);
  CHECK(same_bits_on_any_threads([&] { return vectors_of(both); }, {2, 5}));
}
