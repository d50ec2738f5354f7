#pragma once

#include "../reference/plain.h"
#include <adjoint/graph/generate/generators.h>
#include <adjoint/graph/graph.h>

#include <set>
#include <utility>
#include <vector>

// Graphs of tests, and their edges on the host.

namespace adj::test {

inline Tensor ints(const std::vector<int32_t>& values, Device device = {}) {
  return Tensor::from(values, device);
}
inline Tensor longs(const std::vector<int64_t>& values, Device device = {}) {
  return Tensor::from(values, device);
}
/// 0, 1, …, n - 1.
inline std::vector<int32_t> numbers(int64_t n) {
  std::vector<int32_t> all;
  for (int32_t i = 0; i < n; ++i) all.push_back(i);
  return all;
}

inline Graph graph_of(int64_t nodes, const std::vector<int32_t>& src, const std::vector<int32_t>& dst,
                      Device device = {}) {
  return Graph::from_coo(nodes, ints(src, device), ints(dst, device));
}
inline Graph graph_of(const EdgeList& list, Device device = {}) {
  return graph_of(list.nodes, list.src, list.dst, device);
}
/// Edges numbered as in the list.
inline Relation relation_of(const EdgeList& list, Device device = {}) {
  return Relation::from_coo(list.nodes, list.nodes, ints(list.src, device), ints(list.dst, device));
}
/// Directed, with parallel edges and self-loops.
inline Graph random_graph(int32_t nodes, int64_t edges, Device device = {}, Tensor weight = {},
                          EdgeAttributes attributes = {}) {
  const Tensor src = random_ints(edges, 0, nodes, device), dst = random_ints(edges, 0, nodes, device);
  return Graph::from_coo(nodes, src, dst, std::move(weight), std::move(attributes));
}

/// Without nodes or edges, of loops, stars, a grid, many components, skewed degrees; the last of this size.
inline std::vector<EdgeList> edge_lists(int64_t nodes, int64_t edges) {
  return {{0, {}, {}},
          {1, {}, {}},
          {1, {0, 0}, {0, 0}},
          {2, {0}, {1}},
          {50, {}, {}},
          star_graph(60, false),
          star_graph(60, true),
          thinned_grid(100, 10, 360, 1),
          erdos_renyi_graph(300, 200, 1),
          rmat_graph(256, 3000, {}, 2),
          power_law_graph(nodes, edges, {.skewed_sources = true}, 3)};
}

using Cell = std::pair<int32_t, int32_t>;

/// (a, b) of each edge, in order.
inline std::vector<Cell> cells_of(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  std::vector<Cell> cells;
  for (size_t e = 0; e < a.size(); ++e) cells.emplace_back(a[e], b[e]);
  return cells;
}
/// (source, target).
inline std::vector<Cell> cells_of(const EdgeIndex& edges) {
  return cells_of(edges.src.to_vector<int32_t>(), edges.dst.to_vector<int32_t>());
}
/// Counts in `trials` within five standard deviations of their mean shares (of Poisson, wider than binomial).
inline void check_counts(const std::vector<double>& count, const std::vector<double>& share, double trials) {
  REQUIRE(count.size() == share.size());
  for (size_t k = 0; k < count.size(); ++k) {
    CAPTURE(k);
    CHECK(std::abs(count[k] - share[k] * trials) <= 5.0 * std::sqrt(share[k] * trials) + 1e-9);
  }
}

template <class T>
std::set<T> set_of(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

}  // namespace adj::test
