#include "edges.h"
#include <adjoint/graph/transforms.h>

#include <algorithm>
#include <map>
#include <set>

using namespace adj;
using namespace adj::test;

namespace {

/// A graph's edges on the host, by number: (target, source).
struct Edges {
  explicit Edges(const Graph& graph)
      : weighted(static_cast<bool>(graph.edge_weight())),
        weight(weighted ? graph.edge_weight().to_vector<float>() : std::vector<float>()) {
    const EdgeIndex edges = graph.edge_index();
    cells = cells_of(EdgeIndex{edges.dst, edges.src});
  }
  float weight_of(size_t e) const { return weighted ? weight[e] : 1.0f; }

  bool weighted;
  std::vector<float> weight;
  std::vector<Cell> cells;
};

/// Weights, and attributes of several widths and types.
Graph attributed_graph(int32_t nodes, int64_t edges, bool weighted, Device device = {}) {
  return random_graph(nodes, edges, device, weighted ? random_tensor({edges}, DType::f32, device) : Tensor(),
                      {{"type", random_ints(edges, 0, 5, device)},
                       {"length", random_tensor({edges, 3}, DType::f64, device)},
                       {"half", random_tensor({edges}, DType::bf16, device)}});
}

/// The attributes on the host.
struct Attributes {
  explicit Attributes(const Graph& graph)
      : type(graph.edge_attr("type").to_vector<int32_t>()),
        length(values(graph.edge_attr("length"))),
        half(values(graph.edge_attr("half"))) {
    CHECK(graph.edge_attr("half").dtype() == DType::bf16);
  }
  std::vector<int32_t> type;
  std::vector<double> length, half;  // three numbers per edge
};

std::multiset<Cell> sorted(const std::vector<Cell>& cells) { return {cells.begin(), cells.end()}; }

/// Graphs with edges numbered in the order of the CSR, and in another order.
std::vector<Graph> cases(bool weighted, Device device) {
  std::vector<Graph> graphs;
  for (const auto& [nodes, edges] : {std::pair{1, 0}, {1, 4}, {7, 0}, {6, 90}, {30, 100}, {200, 3001}}) {
    graphs.push_back(attributed_graph(nodes, edges, weighted, device));
    graphs.push_back(reverse(graphs.back()));
  }
  const Graph unsorted = attributed_graph(20, 70, weighted, device);
  const Tensor src = random_ints(70, 0, 20, device), dst = random_ints(70, 0, 20, device);
  graphs.emplace_back(Relation::from_coo(20, 20, src, dst), unsorted.edge_weight(),
                      unsorted.edge_attributes());
  return graphs;
}

/// `f(graph)` for every case on every device.
template <class F>
void for_cases(F&& f) {
  for (Device device : devices())
    for (bool weighted : {false, true})
      for (const Graph& graph : cases(weighted, device)) {
        CAPTURES(weighted, graph.num_edges());
        f(graph);
      }
}

/// The old edges of each new edge, by both maps, which must agree.
std::vector<std::vector<size_t>> parents_of(const Graph& old, const Transformed& result) {
  const auto map = result.edge_map.to_vector<int32_t>(), merged = result.merged_into.to_vector<int32_t>();
  REQUIRE(static_cast<int64_t>(map.size()) == result.num_edges());
  REQUIRE(static_cast<int64_t>(merged.size()) == old.num_edges());
  std::vector<std::vector<size_t>> parents(map.size());
  for (size_t e = 0; e < merged.size(); ++e) {
    REQUIRE(merged[e] < static_cast<int32_t>(map.size()));
    if (merged[e] >= 0) parents[uz(merged[e])].push_back(e);
  }
  return parents;
}

/// Every transform returns edges in this order.
void check_sorted(const Graph& graph) {
  const std::vector<Cell> cells = Edges(graph).cells;
  CHECK(std::is_sorted(cells.begin(), cells.end()));
  CHECK(!graph.relation().csr_order());
}

/// For transforms that merge no edges: ends (if all nodes are kept), weights and attributes are those of the
/// old edge, or `weight` and 0 for an added one.
void check_unmerged(const Graph& old, const Transformed& result, float weight = 1.0f) {
  check_sorted(result);
  const auto map = result.edge_map.to_vector<int32_t>();
  const auto parents = parents_of(old, result);
  const Edges before(old), after(result);
  const Attributes was(old), now(result);
  for (size_t e = 0; e < map.size(); ++e) {
    if (map[e] < 0) {
      CHECK(parents[e].empty());
      CHECK(after.weight_of(e) == weight);
      CHECK(now.type[e] == 0);
      CHECK(now.length[3 * e + 2] == 0.0);
    } else {
      const auto parent = uz(map[e]);
      CHECK(parents[e] == std::vector<size_t>{parent});
      if (result.num_nodes() == old.num_nodes()) CHECK(after.cells[e] == before.cells[parent]);
      CHECK(after.weight_of(e) == before.weight_of(parent));
      CHECK(now.type[e] == was.type[parent]);
      for (size_t f = 0; f < 3; ++f) CHECK(now.length[3 * e + f] == was.length[3 * parent + f]);
      CHECK(now.half[e] == was.half[parent]);
    }
  }
}

/// Attributes of new edge e are the sum or mean of those of old edges parents[e], integers those of the
/// first.
void check_merged_attributes(const Graph& old, const Transformed& result,
                             const std::vector<std::vector<size_t>>& parents, bool mean) {
  const Attributes was(old), now(result);
  for (size_t e = 0; e < parents.size(); ++e) {
    double length = 0.0, sum = 0.0;
    for (size_t p : parents[e]) {
      length += was.length[3 * p + 1];
      sum += was.half[p];
    }
    const double n = mean ? static_cast<double>(parents[e].size()) : 1.0;
    CHECK(now.type[e] == was.type[parents[e].front()]);
    CHECK(now.length[3 * e + 1] == length / n);
    CHECK(now.half[e] == doctest::Approx(sum / n).epsilon(0.01));
  }
}

}  // namespace

TEST_CASE("to_undirected: both directions once, weights and attributes averaged over the given edges") {
  for_cases([](const Graph& graph) {
    const Transformed both = to_undirected(graph);
    check_sorted(both);
    CHECK(both.device() == graph.device());
    CHECK(both.is_symmetric());
    CHECK(static_cast<bool>(both.edge_weight()) == static_cast<bool>(graph.edge_weight()));
    const Edges before(graph), after(both);
    std::map<Cell, std::vector<size_t>> meeting;
    for (size_t e = 0; e < before.cells.size(); ++e)
      for (const Cell& cell :
           std::set<Cell>{before.cells[e], {before.cells[e].second, before.cells[e].first}})
        meeting[cell].push_back(e);
    REQUIRE(after.cells.size() == meeting.size());
    std::vector<std::vector<size_t>> parents;
    std::map<Cell, float> weight;
    const auto map = both.edge_map.to_vector<int32_t>();
    for (size_t e = 0; e < after.cells.size(); ++e) {
      parents.push_back(meeting[after.cells[e]]);
      REQUIRE(!parents.back().empty());
      CHECK(map[e] == static_cast<int32_t>(parents.back().front()));
      double sum = 0.0;
      for (size_t p : parents.back()) sum += static_cast<double>(before.weight_of(p));
      CHECK(after.weight_of(e) == static_cast<float>(sum / static_cast<double>(parents.back().size())));
      weight[after.cells[e]] = after.weight_of(e);
    }
    for (const auto& [cell, w] : weight) CHECK(w == weight[{cell.second, cell.first}]);  // to the bit
    check_merged_attributes(graph, both, parents, true);
    const auto merged = both.merged_into.to_vector<int32_t>();
    for (size_t e = 0; e < merged.size(); ++e) CHECK(after.cells[uz(merged[e])] == before.cells[e]);
  });
}

TEST_CASE("add_self_loops: one for each node that has none") {
  for_cases([](const Graph& graph) {
    const Transformed looped = add_self_loops(graph, 0.5f);
    check_unmerged(graph, looped, 0.5f);
    std::multiset<Cell> expected = sorted(Edges(graph).cells);
    for (int32_t i : numbers(graph.num_nodes()))
      if (!expected.contains({i, i})) expected.insert({i, i});
    CHECK(sorted(Edges(looped).cells) == expected);
    CHECK(looped.edge_weight());
    check_unmerged(graph, add_self_loops(graph));
    CHECK(static_cast<bool>(add_self_loops(graph).edge_weight()) == static_cast<bool>(graph.edge_weight()));
    CHECK(add_self_loops(looped).num_edges() == looped.num_edges());
  });
}

TEST_CASE("add_self_loops gives an unweighted graph weights: 1 for its edges, the argument for loops") {
  for (Device device : devices()) {
    const Graph graph = graph_of(3, {0, 1, 1}, {1, 1, 2}, device);
    const Transformed looped = add_self_loops(graph, 2.5f);
    // By target and source: 0 <- 0 (added), 1 <- 0, 1 <- 1 (given), 2 <- 1, 2 <- 2 (added).
    CHECK(close(looped.edge_weight(), {2.5, 1, 1, 1, 2.5}, 0.0));
    CHECK(looped.edge_map.to_vector<int32_t>() == std::vector<int32_t>{-1, 0, 1, 2, -1});
    CHECK(!add_self_loops(graph, 1.0f).edge_weight());
    const Graph weighted = graph.with_edge_weight(Tensor::full({3}, 7.0, DType::f32, device));
    CHECK(close(add_self_loops(weighted).edge_weight(), {1, 7, 7, 7, 1}, 0.0));
  }
}

TEST_CASE("remove_self_loops removes them all and nothing else") {
  for_cases([](const Graph& graph) {
    const Transformed bare = remove_self_loops(graph);
    check_unmerged(graph, bare);
    std::multiset<Cell> expected = sorted(Edges(graph).cells);
    for (int32_t i : numbers(graph.num_nodes())) expected.erase({i, i});
    CHECK(sorted(Edges(bare).cells) == expected);
    CHECK(!bare.has_self_loops());
  });
}

TEST_CASE("coalesce adds up parallel edges") {
  for_cases([](const Graph& graph) {
    const Transformed single = coalesce(graph);
    check_sorted(single);
    const Edges before(graph), after(single);
    const auto parents = parents_of(graph, single);
    const auto map = single.edge_map.to_vector<int32_t>();
    CHECK(set_of(after.cells).size() == after.cells.size());
    size_t merged = 0;
    for (size_t e = 0; e < parents.size(); ++e) {
      REQUIRE(!parents[e].empty());
      CHECK(map[e] == static_cast<int32_t>(parents[e].front()));
      double sum = 0.0;
      for (size_t p : parents[e]) {
        CHECK(before.cells[p] == after.cells[e]);
        sum += static_cast<double>(before.weight_of(p));
      }
      if (after.weighted) CHECK(after.weight_of(e) == static_cast<float>(sum));
      merged += parents[e].size();
    }
    CHECK(merged == before.cells.size());
    CHECK(after.weighted == before.weighted);
    check_merged_attributes(graph, single, parents, false);
  });
}

TEST_CASE("induced_subgraph keeps the edges among its nodes, renumbered") {
  for_cases([](const Graph& graph) {
    std::vector<int32_t> nodes;
    for (int32_t i = static_cast<int32_t>(graph.num_nodes()) - 1; i >= 0; i -= 2) nodes.push_back(i);
    std::rotate(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 3), nodes.end());
    std::map<int32_t, int32_t> number;
    for (size_t k = 0; k < nodes.size(); ++k) number[nodes[k]] = static_cast<int32_t>(k);
    std::multiset<Cell> expected;
    const Edges before(graph);
    for (const Cell& cell : before.cells)
      if (number.contains(cell.first) && number.contains(cell.second))
        expected.insert({number[cell.first], number[cell.second]});
    const Transformed part = induced_subgraph(graph, Tensor::from(nodes));
    CHECK(part.num_nodes() == static_cast<int64_t>(nodes.size()));
    check_unmerged(graph, part);
    const std::vector<Cell> cells = Edges(part).cells;
    CHECK(sorted(cells) == expected);
    const auto map = part.edge_map.to_vector<int32_t>();
    for (size_t e = 0; e < cells.size(); ++e) {
      const Cell& old = before.cells[uz(map[e])];
      CHECK(cells[e] == Cell{number[old.first], number[old.second]});
    }
  });
}

TEST_CASE("edge_subgraph keeps all nodes and the given edges") {
  for_cases([](const Graph& graph) {
    std::vector<int32_t> edges;
    for (int32_t e = static_cast<int32_t>(graph.num_edges()) - 1; e >= 0; e -= 3) edges.push_back(e);
    const Transformed part = edge_subgraph(graph, Tensor::from(edges));
    CHECK(part.num_nodes() == graph.num_nodes());
    check_unmerged(graph, part);
    auto map = part.edge_map.to_vector<int32_t>();
    std::sort(map.begin(), map.end(), std::greater<>());
    CHECK(map == edges);
  });
}

TEST_CASE("reverse swaps the ends of every edge, keeps its number and shares all forms") {
  for_cases([](const Graph& graph) {
    const Graph turned = reverse(graph);
    const Edges before(graph), after(turned);
    for (size_t e = 0; e < before.cells.size(); ++e)
      CHECK(after.cells[e] == Cell{before.cells[e].second, before.cells[e].first});
    CHECK(after.weight == before.weight);
    CHECK(same_bits(turned.edge_attr("type"), graph.edge_attr("type")));
    CHECK(&turned.in_edges() == &graph.out_edges());
    CHECK(reverse(turned).relation() == graph.relation());
  });
}

TEST_CASE("nodes and edges out of range or repeated are refused with their position") {
  for (Device device : devices()) {
    const Graph graph = attributed_graph(30, 300, true, device);
    const auto nodes = [&](std::vector<int32_t> ids) { (void)induced_subgraph(graph, ints(ids)); };
    const auto edges = [&](std::vector<int32_t> ids) { (void)edge_subgraph(graph, ints(ids, device)); };
    CHECK_ERROR(nodes({1, 30}), "induced_subgraph: nodes[1] is 30, expected 0 to 29");
    CHECK_ERROR(nodes({1, 2, -1}), "induced_subgraph: nodes[2] is -1, expected 0 to 29");
    CHECK_ERROR(nodes({-1}), "induced_subgraph: nodes[0] is -1, expected 0 to 29");
    CHECK_ERROR(edges({3, -1}), "edge_subgraph: edges[1] is -1, expected 0 to 299");
    CHECK_ERROR(nodes({4, 1, 4}), "induced_subgraph: node 4 occurs at 0 and at 2, expected once");
    CHECK_ERROR(edges({300}), "edge_subgraph: edges[0] is 300, expected 0 to 299");
    CHECK_ERROR(edges({7, 8, 8}), "edge_subgraph: edge 8 occurs at 1 and at 2, expected once");
    CHECK_THROWS_AS(induced_subgraph(graph, Tensor::zeros({2})), Error);
    CHECK(induced_subgraph(graph, ints({})).num_nodes() == 0);
  }
}

TEST_CASE("a transformed graph can be transformed again") {
  const Graph plain = add_self_loops(attributed_graph(15, 60, false));
  CHECK(plain.has_self_loops());
  CHECK(coalesce(to_undirected(plain)).num_edges() == to_undirected(plain).num_edges());
}
