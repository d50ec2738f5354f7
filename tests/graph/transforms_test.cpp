#include "../captures.h"
#include "../support.h"
#include <adjoint/graph/transforms.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace adj;
using namespace adj::test;

namespace {

using Cell = std::pair<int32_t, int32_t>;  // target, source

/// A graph's edges on the host, by number.
struct Edges {
  explicit Edges(const Graph& graph)
      : weighted(static_cast<bool>(graph.edge_weight())),
        weight(weighted ? graph.edge_weight().to_vector<float>() : std::vector<float>()) {
    const EdgeIndex edges = graph.edge_index();
    const auto src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>();
    for (size_t e = 0; e < src.size(); ++e) cells.emplace_back(dst[e], src[e]);
  }
  float weight_of(size_t e) const { return weighted ? weight[e] : 1.0f; }

  bool weighted;
  std::vector<float> weight;
  std::vector<Cell> cells;
};

/// Weights, and attributes of several widths and types.
Graph random_graph(int32_t nodes, int64_t edges, bool weighted, Device device = {}) {
  return Graph::from_coo(nodes, random_ints(edges, 0, nodes, device), random_ints(edges, 0, nodes, device),
                         weighted ? random_tensor({edges}, DType::f32, device) : Tensor(),
                         {{"type", random_ints(edges, 0, 5, device)},
                          {"length", random_tensor({edges, 3}, DType::f64, device)},
                          {"half", random_tensor({edges}, DType::bf16, device)}});
}

/// Graphs whose edges are numbered as the CSR has them, and ones where they are not.
std::vector<Graph> cases(bool weighted, Device device) {
  std::vector<Graph> graphs;
  for (const auto& [nodes, edges] : {std::pair{1, 0}, {1, 4}, {7, 0}, {6, 90}, {30, 100}, {200, 3001}}) {
    graphs.push_back(random_graph(nodes, edges, weighted, device));
    graphs.push_back(reverse(graphs.back()));
  }
  const Graph unsorted = random_graph(20, 70, weighted, device);
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
        CAPTURES(device.str(), weighted, graph.num_edges());
        f(graph);
      }
}

/// The old edges that each new edge is made of, by the two maps, which must agree.
std::vector<std::vector<size_t>> parents_of(const Graph& old, const Transformed& made) {
  const auto map = made.edge_map.to_vector<int32_t>(), merged = made.merged_into.to_vector<int32_t>();
  REQUIRE(static_cast<int64_t>(map.size()) == made.num_edges());
  REQUIRE(static_cast<int64_t>(merged.size()) == old.num_edges());
  std::vector<std::vector<size_t>> parents(map.size());
  for (size_t e = 0; e < merged.size(); ++e) {
    REQUIRE(merged[e] < static_cast<int32_t>(map.size()));
    if (merged[e] >= 0) parents[static_cast<size_t>(merged[e])].push_back(e);
  }
  return parents;
}

/// The edges in the order that every transform leaves them in.
void check_sorted(const Graph& graph) {
  const std::vector<Cell> cells = Edges(graph).cells;
  CHECK(std::is_sorted(cells.begin(), cells.end()));
  CHECK(!graph.relation().csr_order());
}

/// Where every new edge comes from one old edge at most: ends (where all nodes stay), weights and attributes
/// are that edge's, or `weight` and 0 for an added one.
void check_apart(const Graph& old, const Transformed& made, float weight = 1.0f) {
  check_sorted(made);
  const auto map = made.edge_map.to_vector<int32_t>();
  const auto parents = parents_of(old, made);
  const Edges before(old), after(made);
  const auto types = old.edge_attr("type").to_vector<int32_t>(),
             new_types = made.edge_attr("type").to_vector<int32_t>();
  const std::vector<double> lengths = values(old.edge_attr("length")),
                            new_lengths = values(made.edge_attr("length")),
                            half = values(old.edge_attr("half")), new_half = values(made.edge_attr("half"));
  CHECK(made.edge_attr("half").dtype() == DType::bf16);
  for (size_t e = 0; e < map.size(); ++e) {
    if (map[e] < 0) {
      CHECK(parents[e].empty());
      CHECK(after.weight_of(e) == weight);
      CHECK(new_types[e] == 0);
      CHECK(new_lengths[3 * e + 2] == 0.0);
    } else {
      const auto from = static_cast<size_t>(map[e]);
      CHECK(parents[e] == std::vector<size_t>{from});
      if (made.num_nodes() == old.num_nodes()) CHECK(after.cells[e] == before.cells[from]);
      CHECK(after.weight_of(e) == before.weight_of(from));
      CHECK(new_types[e] == types[from]);
      for (size_t f = 0; f < 3; ++f) CHECK(new_lengths[3 * e + f] == lengths[3 * from + f]);
      CHECK(new_half[e] == half[from]);
    }
  }
}

/// That new edge e's attributes are merged from old edges `from`, in order: whole numbers of the first.
void check_merged_attributes(const Graph& old, const Transformed& made,
                             const std::vector<std::vector<size_t>>& from, bool mean) {
  const auto types = old.edge_attr("type").to_vector<int32_t>(),
             new_types = made.edge_attr("type").to_vector<int32_t>();
  const std::vector<double> lengths = values(old.edge_attr("length")),
                            new_lengths = values(made.edge_attr("length")),
                            half = values(old.edge_attr("half")), new_half = values(made.edge_attr("half"));
  for (size_t e = 0; e < from.size(); ++e) {
    double length = 0.0, sum = 0.0;
    for (size_t p : from[e]) {
      length += lengths[3 * p + 1];
      sum += half[p];
    }
    const double n = mean ? static_cast<double>(from[e].size()) : 1.0;
    CHECK(new_types[e] == types[from[e].front()]);
    CHECK(new_lengths[3 * e + 1] == length / n);
    CHECK(new_half[e] == doctest::Approx(sum / n).epsilon(0.01));
  }
}

}  // namespace

TEST_CASE("to_undirected: both directions once, weights and attributes averaged over what was given") {
  for_cases([](const Graph& graph) {
    const Transformed both = to_undirected(graph);
    check_sorted(both);
    CHECK(both.device() == graph.device());
    CHECK(both.is_symmetric());
    CHECK(static_cast<bool>(both.edge_weight()) == static_cast<bool>(graph.edge_weight()));
    const Edges before(graph), after(both);
    std::map<Cell, std::vector<size_t>> meeting;
    for (size_t e = 0; e < before.cells.size(); ++e)
      for (const Cell& at : std::set<Cell>{before.cells[e], {before.cells[e].second, before.cells[e].first}})
        meeting[at].push_back(e);
    REQUIRE(after.cells.size() == meeting.size());
    std::vector<std::vector<size_t>> from;
    std::map<Cell, float> weight;
    const auto map = both.edge_map.to_vector<int32_t>();
    for (size_t e = 0; e < after.cells.size(); ++e) {
      from.push_back(meeting[after.cells[e]]);
      REQUIRE(!from.back().empty());
      CHECK(map[e] == static_cast<int32_t>(from.back().front()));
      double sum = 0.0;
      for (size_t p : from.back()) sum += static_cast<double>(before.weight_of(p));
      CHECK(after.weight_of(e) == static_cast<float>(sum / static_cast<double>(from.back().size())));
      weight[after.cells[e]] = after.weight_of(e);
    }
    for (const auto& [cell, w] : weight) CHECK(w == weight[{cell.second, cell.first}]);  // to the bit
    check_merged_attributes(graph, both, from, true);
    const auto merged = both.merged_into.to_vector<int32_t>();
    for (size_t e = 0; e < merged.size(); ++e)
      CHECK(after.cells[static_cast<size_t>(merged[e])] == before.cells[e]);
  });
}

TEST_CASE("add_self_loops: one for each node that has none") {
  for_cases([](const Graph& graph) {
    const Transformed looped = add_self_loops(graph, 0.5f);
    check_apart(graph, looped, 0.5f);
    std::multiset<Cell> expected;
    for (const Cell& cell : Edges(graph).cells) expected.insert(cell);
    for (int32_t i = 0; i < graph.num_nodes(); ++i)
      if (!expected.contains({i, i})) expected.insert({i, i});
    const std::vector<Cell> cells = Edges(looped).cells;
    CHECK(std::multiset<Cell>(cells.begin(), cells.end()) == expected);
    CHECK(looped.edge_weight());
    check_apart(graph, add_self_loops(graph));
    CHECK(static_cast<bool>(add_self_loops(graph).edge_weight()) == static_cast<bool>(graph.edge_weight()));
    CHECK(add_self_loops(looped).num_edges() == looped.num_edges());
  });
}

TEST_CASE(
    "add_self_loops makes an unweighted graph a weighted one: its edges weigh 1, the loops what was asked") {
  for (Device device : devices()) {
    const auto ints = [&](const std::vector<int32_t>& v) { return Tensor::from(v, device); };
    const Graph graph = Graph::from_coo(3, ints({0, 1, 1}), ints({1, 1, 2}));
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
    check_apart(graph, bare);
    std::multiset<Cell> expected;
    for (const Cell& cell : Edges(graph).cells)
      if (cell.first != cell.second) expected.insert(cell);
    const std::vector<Cell> cells = Edges(bare).cells;
    CHECK(std::multiset<Cell>(cells.begin(), cells.end()) == expected);
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
    CHECK(std::set<Cell>(after.cells.begin(), after.cells.end()).size() == after.cells.size());
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
    check_apart(graph, part);
    const std::vector<Cell> cells = Edges(part).cells;
    CHECK(std::multiset<Cell>(cells.begin(), cells.end()) == expected);
    const auto map = part.edge_map.to_vector<int32_t>();
    for (size_t e = 0; e < cells.size(); ++e) {
      const Cell& old = before.cells[static_cast<size_t>(map[e])];
      CHECK(cells[e] == Cell{number[old.first], number[old.second]});
    }
  });
}

TEST_CASE("edge_subgraph keeps all nodes and the edges that are named") {
  for_cases([](const Graph& graph) {
    std::vector<int32_t> edges;
    for (int32_t e = static_cast<int32_t>(graph.num_edges()) - 1; e >= 0; e -= 3) edges.push_back(e);
    const Transformed part = edge_subgraph(graph, Tensor::from(edges));
    CHECK(part.num_nodes() == graph.num_nodes());
    check_apart(graph, part);
    auto map = part.edge_map.to_vector<int32_t>();
    std::sort(map.begin(), map.end(), std::greater<>());
    CHECK(map == edges);
  });
}

TEST_CASE("reverse turns every edge round under its number and shares all forms") {
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

TEST_CASE("what a subgraph cannot be made of is refused with its place") {
  for (Device device : devices()) {
    const Graph graph = random_graph(30, 300, true, device);
    const auto nodes = [&](std::vector<int32_t> ids) { (void)induced_subgraph(graph, Tensor::from(ids)); };
    const auto edges = [&](std::vector<int32_t> ids) {
      (void)edge_subgraph(graph, Tensor::from(ids, device));
    };
    CHECK_THROWS_WITH_AS(nodes({1, 30}), "induced_subgraph: nodes[1] is 30, expected 0 to 29", Error);
    CHECK_THROWS_WITH_AS(nodes({1, 2, -1}), "induced_subgraph: nodes[2] is -1, expected 0 to 29", Error);
    CHECK_THROWS_WITH_AS(nodes({-1}), "induced_subgraph: nodes[0] is -1, expected 0 to 29", Error);
    CHECK_THROWS_WITH_AS(edges({3, -1}), "edge_subgraph: edges[1] is -1, expected 0 to 299", Error);
    CHECK_THROWS_WITH_AS(nodes({4, 1, 4}), "induced_subgraph: node 4 stands at 0 and at 2, expected once",
                         Error);
    CHECK_THROWS_WITH_AS(edges({300}), "edge_subgraph: edges[0] is 300, expected 0 to 299", Error);
    CHECK_THROWS_WITH_AS(edges({7, 8, 8}), "edge_subgraph: edge 8 stands at 1 and at 2, expected once",
                         Error);
    CHECK_THROWS_AS((void)induced_subgraph(graph, Tensor::zeros({2})), Error);
    CHECK(induced_subgraph(graph, Tensor::from(std::vector<int32_t>{})).num_nodes() == 0);
  }
}

TEST_CASE("a transformed graph is a graph, with or without its maps") {
  const Graph plain = add_self_loops(random_graph(15, 60, false));
  CHECK(plain.has_self_loops());
  CHECK(coalesce(to_undirected(plain)).num_edges() == to_undirected(plain).num_edges());
}
