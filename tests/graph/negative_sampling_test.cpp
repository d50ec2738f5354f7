#include "edges.h"
#include <adjoint/graph/sample/negative_sampling.h>

#include <algorithm>
#include <cmath>
#include <map>

using namespace adj;
using namespace adj::test;

namespace {

/// Every pair that is not in `edges`, without the diagonal unless requested.
std::set<Cell> free_cells(const Graph& graph, bool diagonal) {
  std::set<Cell> free;
  for (int32_t j : numbers(graph.num_nodes()))
    for (int32_t i : numbers(graph.num_nodes()))
      if (diagonal || i != j) free.insert({j, i});
  for (const Cell& cell : cells_of(graph.edge_index())) free.erase(cell);
  return free;
}

}  // namespace

TEST_CASE("negative pairs are not edges or self-loops, and distinct, on sparse and dense graphs") {
  for (Device device : devices())
    for (const auto& [nodes, edges] : {std::pair{2, 0}, {5, 12}, {40, 100}, {40, 3000}, {300, 2000}})
      for (bool self_loops : {false, true}) {
        CAPTURE(edges);
        const Graph graph = random_graph(nodes, edges, device);
        const std::set<Cell> free = free_cells(graph, self_loops);
        const auto all = static_cast<int64_t>(free.size());
        for (int64_t count : {int64_t{0}, std::min<int64_t>(all, 7), all / 2, all}) {
          Generator generator(3);
          const EdgeIndex drawn = negative_sampling(graph, count, generator, {.self_loops = self_loops});
          CHECK(drawn.src.device() == device);
          const std::vector<Cell> cells = cells_of(drawn);
          const std::set<Cell> distinct = set_of(cells);
          CHECK(static_cast<int64_t>(distinct.size()) == count);
          CHECK(std::includes(free.begin(), free.end(), distinct.begin(), distinct.end()));
        }
        Generator generator(3);
        CHECK_ERROR_HAS(negative_sampling(graph, all + 1, generator, {.self_loops = self_loops}),
                        fmt::format("only {} have no edge", all).c_str());
      }
}

TEST_CASE("undirected negative pairs have no edge in either direction, and are distinct without it") {
  for (Device device : devices())
    for (const auto& [nodes, edges] : {std::pair{2, 0}, {5, 6}, {40, 100}, {40, 700}})
      for (bool self_loops : {false, true}) {
        const Graph graph = random_graph(nodes, edges, device);
        std::set<Cell> free, either = set_of(cells_of(graph.edge_index()));
        for (const Cell& cell : cells_of(graph.edge_index())) either.insert({cell.second, cell.first});
        for (int32_t dst : numbers(nodes))
          for (int32_t src = 0; src < dst + (self_loops ? 1 : 0); ++src)
            if (!either.contains({src, dst})) free.insert({src, dst});
        Generator generator(3);
        const auto all = static_cast<int64_t>(free.size());
        const NegativeSampling options{.self_loops = self_loops, .undirected = true};
        CHECK(set_of(cells_of(negative_sampling(graph, all, generator, options))) == free);
        CHECK_ERROR_HAS(negative_sampling(graph, all + 1, generator, options),
                        fmt::format("only {} have no edge", all).c_str());
      }
}

TEST_CASE("every pair without an edge is as likely as any other") {
  const Graph graph = random_graph(9, 50);
  const std::set<Cell> free = free_cells(graph, false);
  for (bool repeated : {false, true}) {
    std::map<Cell, int64_t> drawn;
    Generator generator(11);
    const int64_t each = repeated ? 3 : std::min<int64_t>(3, static_cast<int64_t>(free.size()));
    const int64_t rounds = 4000;
    for (int64_t round = 0; round < rounds; ++round)
      for (const Cell& cell : cells_of(negative_sampling(graph, each, generator, {.repeated = repeated})))
        ++drawn[cell];
    const double expected = static_cast<double>(rounds * each) / static_cast<double>(free.size());
    double chi2 = 0.0;
    for (const Cell& cell : free) {
      const double off = static_cast<double>(drawn[cell]) - expected;
      chi2 += off * off / expected;
    }
    CHECK(drawn.size() == free.size());
    CHECK(chi2 < 2.0 * static_cast<double>(free.size()) + 10.0);
  }
}

TEST_CASE("negative pairs depend on graph and generator, not on device or threads") {
  const Graph graph = random_graph(200, 3000);
  const auto drawn = [](const Graph& input, uint64_t seed) {
    Generator generator(seed);
    return cells_of(negative_sampling(input, 500, generator));
  };
  const std::vector<Cell> first = drawn(graph, 1);
  for (Device device : devices()) CHECK(drawn(graph.to(device), 1) == first);
  const Threads one(1);
  CHECK(drawn(graph, 1) == first);
  CHECK(drawn(graph, 2) != first);
}

TEST_CASE("pairs of two node sets, repeated pairs, and a graph without free pairs") {
  const Relation relation = Relation::from_coo(2, 3, ints({0, 0, 1}), ints({0, 1, 2}));
  Generator generator(5);
  CHECK(set_of(cells_of(negative_sampling(relation, 3, generator))) ==
        std::set<Cell>{{0, 2}, {1, 0}, {1, 1}});
  CHECK(negative_sampling(relation, 50, generator, true).src.numel() == 50);
  const Graph complete = graph_of(2, {0, 1}, {1, 0});
  CHECK_THROWS_AS(negative_sampling(complete, 1, generator, {.repeated = true}), Error);
  CHECK(negative_sampling(complete, 0, generator).src.numel() == 0);
  CHECK(cells_of(negative_sampling(complete, 2, generator, {.self_loops = true})).size() == 2);
  CHECK_THROWS_AS(negative_sampling(complete, -1, generator), Error);
}

TEST_CASE("negative sources of a target are those without an edge to it, each as likely") {
  const std::vector<int32_t> src{0, 3, 4, 1, 0, 1, 2, 3, 4, 5}, dst{0, 0, 0, 1, 3, 3, 3, 3, 3, 3};
  const Relation cpu = Relation::from_coo(6, 4, Tensor::from(src), Tensor::from(dst));
  std::vector<int32_t> targets;
  for (int32_t k = 0; k < 90'000; ++k) targets.push_back(k % 3);
  std::vector<int32_t> first;
  for (Device device : devices())
    for (int threads : {1, 3}) {
      const Threads count(threads);
      Generator generator(5);
      const Tensor drawn = negative_sources(cpu.to(device), Tensor::from(targets), generator);
      CHECK(drawn.device() == device);
      if (first.empty()) first = drawn.to_vector<int32_t>();
      CHECK(drawn.to_vector<int32_t>() == first);
    }
  std::map<Cell, int> counts;
  for (size_t k = 0; k < targets.size(); ++k) ++counts[{first[k], targets[k]}];
  for (const auto& [target, sources] :
       {std::pair(0, std::vector<int32_t>{1, 2, 5}), {1, {0, 2, 3, 4, 5}}, {2, {0, 1, 2, 3, 4, 5}}}) {
    const double expected = 30'000.0 / static_cast<double>(sources.size());
    for (int32_t source = 0; source < 6; ++source) {
      const bool possible = std::ranges::count(sources, source) > 0;
      CHECK(std::abs(counts[{source, target}] - (possible ? expected : 0.0)) < 5.0 * std::sqrt(expected));
      if (!possible) CHECK(counts[{source, target}] == 0);
    }
  }
  Generator generator(5);
  CHECK_ERROR_HAS(negative_sources(cpu, Tensor::from(std::vector<int32_t>{3}), generator),
                  "target 3 has an edge from every source");
  CHECK_ERROR_HAS(negative_sources(cpu, Tensor::from(std::vector<int32_t>{4}), generator), "target 4 of 4");
}
