#include "edges.h"
#include <adjoint/autograd/self_loops.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/graph/transforms.h>

using namespace adj;
using namespace adj::test;

namespace {

/// A rectangular list with parallel edges, two loops of node 1 (edges 1 and 4) and one of node 3 (edge 6).
Relation rectangular(Device device) {
  return Relation::from_coo(6, 4, ints({0, 1, 2, 5, 1, 0, 3, 2}, device),
                            ints({1, 1, 0, 3, 1, 1, 3, 0}, device));
}

/// "target source origin" of each new edge; `became` must agree.
std::vector<std::string> contents(const LoopedRelation& looped, int64_t edges) {
  const std::vector<Cell> cells = cells_of(looped.relation.edge_index());
  const auto origin = looped.origin.to_vector<int32_t>(), became = looped.became.to_vector<int32_t>();
  CHECK(!looped.relation.csr_order());
  CHECK(became.size() == uz(edges + looped.loops));
  std::vector<std::string> found;
  std::vector<int32_t> expected(became.size(), static_cast<int32_t>(cells.size()));
  for (size_t k = 0; k < cells.size(); ++k) {
    found.push_back(fmt::format("{} {} {}", cells[k].second, cells[k].first, origin[k]));
    expected[uz(origin[k])] = static_cast<int32_t>(k);
  }
  CHECK(became == expected);
  CHECK(looped.complete == (cells.size() == became.size()));
  return found;
}

}  // namespace

TEST_CASE("self-loops are removed, completed, renewed or added, with maps of edges in both directions") {
  on_devices([&](Device device) {
    const Relation relation = rectangular(device);
    const std::pair<SelfLoops, std::vector<std::string>> expected[] = {
        {SelfLoops::removed, {"0 2 2", "0 2 7", "1 0 0", "1 0 5", "3 5 3"}},
        {SelfLoops::completed,
         {"0 0 8", "0 2 2", "0 2 7", "1 0 0", "1 0 5", "1 1 4", "2 2 10", "3 3 6", "3 5 3"}},
        {SelfLoops::renewed,
         {"0 0 8", "0 2 2", "0 2 7", "1 0 0", "1 0 5", "1 1 9", "2 2 10", "3 3 11", "3 5 3"}},
        {SelfLoops::added,
         {"0 0 8", "0 2 2", "0 2 7", "1 0 0", "1 0 5", "1 1 1", "1 1 4", "1 1 9", "2 2 10", "3 3 6", "3 3 11",
          "3 5 3"}}};
    for (const auto& [kind, rows] : expected) {
      CHECK(contents(with_self_loops(relation, kind), 8) == rows);
      CHECK(with_self_loops(relation, kind).relation == with_self_loops(relation, kind).relation);
    }
  });
}

TEST_CASE("without self-loops to remove the relation itself is returned, and empty relations get loops") {
  for (Device device : devices()) {
    const Relation relation = relation_of({3, {0, 1}, {1, 2}}, device);
    const LoopedRelation bare = with_self_loops(relation, SelfLoops::removed);
    CHECK(bare.relation == relation);
    CHECK(!bare.origin);
    const Tensor none = ints({}, device);
    const Relation no_nodes = Relation::from_coo(0, 0, none, none),
                   no_edges = Relation::from_coo(2, 3, none, none);
    CHECK(with_self_loops(no_nodes, SelfLoops::renewed).relation.num_edges() == 0);
    CHECK(with_self_loops(no_edges, SelfLoops::renewed).relation.num_edges() == 2);
  }
}

TEST_CASE("dropout_edge keeps edges with its probability, and their weights and attributes") {
  on_devices(310, DType::f32, [&](Draw& draw, Device device) {
    Graph graph = draw.graph(200, 20000, true);
    std::vector<float> number(20000);
    std::iota(number.begin(), number.end(), 0.0f);
    graph = graph.with_edge_attr("number", Tensor::from(number, device));
    Generator generator(5), again(5), other(6);
    const Transformed left = dropout_edge(graph, 0.25f, false, true, generator);
    CHECK(std::abs(static_cast<double>(left.num_edges()) - 15000.0) < 300.0);
    CHECK(same_bits(left.edge_map, dropout_edge(graph, 0.25f, false, true, again).edge_map));
    CHECK_FALSE(same_bits(left.edge_map, dropout_edge(graph, 0.25f, false, true, other).edge_map));
    const EdgeIndex old = graph.edge_index(), now = left.edge_index();
    CHECK(same_bits(now.src, detail::gather_edges(old.src, left.edge_map)));
    CHECK(same_bits(now.dst, detail::gather_edges(old.dst, left.edge_map)));
    CHECK(same_bits(left.edge_weight(), detail::gather_edges(graph.edge_weight(), left.edge_map)));
    CHECK(same_bits(left.edge_attr("number"), left.edge_map.to(DType::f32)));
    const auto check_maps = [](const Transformed& result) {
      const auto merged = result.merged_into.to_vector<int32_t>(), map = result.edge_map.to_vector<int32_t>();
      CHECK(std::count(merged.begin(), merged.end(), -1) == std::ssize(merged) - result.num_edges());
      for (size_t k = 0; k < map.size(); ++k) REQUIRE(merged[uz(map[k])] == static_cast<int32_t>(k));
    };
    check_maps(left);
    // For a list and a CSR: the edge numbers are the same whether or not any edge is dropped.
    for (const Graph& source : {graph, Graph(coalesce(graph))}) {
      const int64_t edges = source.num_edges();
      const Transformed numbered = edge_subgraph(source, random_permutation(edges, generator, device));
      for (const Transformed& whole :
           {dropout_edge(source, 0.0f), dropout_edge(source, 0.5f, false, false)}) {
        CHECK(whole.num_edges() == edges);
        CHECK(same_bits(whole.edge_index().src, numbered.edge_index().src));
        CHECK(same_bits(whole.edge_index().dst, numbered.edge_index().dst));
        check_maps(whole);
        CHECK(same_bits(whole.edge_weight(), detail::gather_edges(source.edge_weight(), whole.edge_map)));
        CHECK(same_bits(whole.edge_attr("number"),
                        detail::gather_edges(source.edge_attr("number"), whole.edge_map)));
      }
    }
  });
  CHECK_THROWS_AS(dropout_edge(Draw(1).graph(5, 9), 1.0f), Error);
}

TEST_CASE("dropout_edge of an undirected graph drops both directions or none") {
  on_devices(311, DType::f32, [&](Draw& draw, Device) {
    const Graph graph = add_self_loops(to_undirected(draw.graph(100, 2000)));
    Generator generator(5);
    const Transformed left = dropout_edge(graph, 0.5f, true, true, generator);
    CHECK(left.is_symmetric());
    CHECK(std::abs(static_cast<double>(left.num_edges()) / static_cast<double>(graph.num_edges()) - 0.5) <
          0.05);
    // No edge twice, nor a loop.
    CHECK(coalesce(left).num_edges() == left.num_edges());
    const Transformed whole = dropout_edge(graph, 1e-6f, true, true, generator);
    CHECK(whole.num_edges() == graph.num_edges());
  });
}
