#include "../support.h"
#include <adjoint/graph/graph.h>

#include <map>
#include <set>

using namespace adj;
using namespace adj::test;

namespace {

using Cell = std::pair<int32_t, int32_t>;  // target, source

std::multimap<Cell, float> cells(const Graph& graph) {
  std::multimap<Cell, float> map;
  const auto offsets = graph.in_edges().offsets.to_vector<int64_t>();
  const auto sources = graph.in_edges().indices.to_vector<int32_t>();
  const auto weights = graph.edge_weight() ? graph.edge_weight().to_vector<float>() : std::vector<float>();
  for (int32_t i = 0; i < graph.num_nodes(); ++i)
    for (auto e = static_cast<size_t>(offsets[static_cast<size_t>(i)]);
         e < static_cast<size_t>(offsets[static_cast<size_t>(i) + 1]); ++e)
      map.emplace(Cell{i, sources[e]}, weights.empty() ? 1.0f : weights[e]);
  return map;
}

Graph random_graph(int32_t nodes, int64_t edges, bool weighted, Device device = {}) {
  return Graph::from_coo(nodes, random_ints(edges, 0, nodes, device), random_ints(edges, 0, nodes, device),
                         weighted ? random_tensor({edges}, DType::f32, device) : Tensor());
}

}  // namespace

TEST_CASE("to_undirected: both directions once, weights averaged over what was given") {
  for (Device device : devices())
    for (bool weighted : {false, true}) {
      const Graph graph = random_graph(20, 150, weighted, device), both = to_undirected(graph);
      CHECK(both.device() == device);
      CHECK(both.is_symmetric());
      std::map<Cell, std::pair<double, int>> expected;
      for (const auto& [cell, weight] : cells(graph))
        for (const Cell& at : std::set<Cell>{cell, {cell.second, cell.first}}) {
          expected[at].first += static_cast<double>(weight);
          expected[at].second += 1;
        }
      // A self-loop meets itself in both directions; its mean is the same.
      const auto found = cells(both);
      REQUIRE(found.size() == expected.size());
      for (const auto& [cell, weight] : found)
        CHECK(weight == doctest::Approx(expected[cell].first / expected[cell].second).epsilon(1e-5));
      CHECK(static_cast<bool>(both.edge_weight()) == weighted);
    }
  CHECK(to_undirected(Graph::from_coo(3, random_ints(0, 0, 1), random_ints(0, 0, 1))).num_edges() == 0);
}

TEST_CASE("add_self_loops: one for each node that has none") {
  const Graph graph = random_graph(15, 60, true);
  auto expected = cells(graph);
  for (int32_t i = 0; i < 15; ++i)
    if (!expected.contains({i, i})) expected.emplace(Cell{i, i}, 0.5f);
  CHECK(cells(add_self_loops(graph, 0.5f)) == expected);
  const Graph plain = random_graph(15, 60, false);
  CHECK(!add_self_loops(plain).edge_weight());
  CHECK(add_self_loops(add_self_loops(plain)).num_edges() == add_self_loops(plain).num_edges());
  CHECK(cells(add_self_loops(plain, 2.0f)).size() == cells(add_self_loops(plain)).size());
}

TEST_CASE("remove_self_loops removes them all and nothing else") {
  const Graph graph = random_graph(6, 80, true);
  auto expected = cells(graph);
  std::erase_if(expected, [](const auto& entry) { return entry.first.first == entry.first.second; });
  CHECK(cells(remove_self_loops(graph)) == expected);
  CHECK(!remove_self_loops(graph).has_self_loops());
}

TEST_CASE("coalesce adds up parallel edges") {
  const Graph graph = random_graph(6, 80, true);
  std::map<Cell, double> expected;
  for (const auto& [cell, weight] : cells(graph)) expected[cell] += static_cast<double>(weight);
  const auto found = cells(coalesce(graph));
  REQUIRE(found.size() == expected.size());
  for (const auto& [cell, weight] : found) CHECK(weight == doctest::Approx(expected[cell]).epsilon(1e-4));
  const Graph plain = coalesce(random_graph(6, 80, false));
  CHECK(!plain.edge_weight());
  std::set<Cell> distinct;
  for (const auto& [cell, weight] : cells(plain)) CHECK(distinct.insert(cell).second);
}

TEST_CASE("induced_subgraph keeps the edges among its nodes, renumbered") {
  const Graph graph = random_graph(30, 300, true);
  const std::vector<int32_t> nodes{17, 3, 29, 0, 8};
  std::map<int32_t, int32_t> number;
  for (size_t k = 0; k < nodes.size(); ++k) number[nodes[k]] = static_cast<int32_t>(k);
  std::multimap<Cell, float> expected;
  for (const auto& [cell, weight] : cells(graph))
    if (number.contains(cell.first) && number.contains(cell.second))
      expected.emplace(Cell{number[cell.first], number[cell.second]}, weight);
  const Graph part = induced_subgraph(graph, Tensor::from(nodes));
  CHECK(part.num_nodes() == 5);
  CHECK(cells(part) == expected);
  CHECK(induced_subgraph(graph, Tensor::from(std::vector<int32_t>{})).num_nodes() == 0);
  CHECK_THROWS_WITH_AS(induced_subgraph(graph, Tensor::from(std::vector<int32_t>{1, 30})),
                       "induced_subgraph: nodes[1] is 30, expected 0 to 29", Error);
  CHECK_THROWS_WITH_AS(induced_subgraph(graph, Tensor::from(std::vector<int32_t>{4, 1, 4})),
                       "induced_subgraph: node 4 stands at 0 and at 2, expected once", Error);
}
