#include "../reference/plain.h"
#include <adjoint/autograd/self_loops.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/graph/transforms.h>

#include <map>

using namespace adj;
using namespace adj::test;

namespace {

/// A rectangular list with parallel edges, two loops of node 1 (edges 1 and 4) and one of node 3 (edge 6).
Relation rectangular(Device device) {
  const std::vector<int32_t> src{0, 1, 2, 5, 1, 0, 3, 2}, dst{1, 1, 0, 3, 1, 1, 3, 0};
  return Relation::from_coo(6, 4, Tensor::from(src, device), Tensor::from(dst, device));
}

/// What stands at each new edge: (target, source, origin), and that `became` says the same.
std::vector<std::vector<int32_t>> contents(const LoopedRelation& looped, int64_t edges) {
  const EdgeIndex list = looped.relation.edge_index();
  const auto src = list.src.to_vector<int32_t>(), dst = list.dst.to_vector<int32_t>();
  const auto origin = looped.origin.to_vector<int32_t>(), became = looped.became.to_vector<int32_t>();
  CHECK(!looped.relation.csr_order());
  CHECK(became.size() == static_cast<size_t>(edges + looped.loops));
  std::vector<std::vector<int32_t>> found;
  std::vector<int32_t> expected(became.size(), static_cast<int32_t>(src.size()));
  for (size_t k = 0; k < src.size(); ++k) {
    found.push_back({dst[k], src[k], origin[k]});
    expected[static_cast<size_t>(origin[k])] = static_cast<int32_t>(k);
  }
  CHECK(became == expected);
  CHECK(looped.complete == (src.size() == became.size()));
  return found;
}

}  // namespace

TEST_CASE("self-loops are removed, completed, renewed or added, and every edge's way is known") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    const Relation relation = rectangular(device);
    using Rows = std::vector<std::vector<int32_t>>;
    CHECK(contents(with_self_loops(relation, SelfLoops::removed), 8) ==
          Rows{{0, 2, 2}, {0, 2, 7}, {1, 0, 0}, {1, 0, 5}, {3, 5, 3}});
    CHECK(contents(with_self_loops(relation, SelfLoops::completed), 8) == Rows{{0, 0, 8},
                                                                               {0, 2, 2},
                                                                               {0, 2, 7},
                                                                               {1, 0, 0},
                                                                               {1, 0, 5},
                                                                               {1, 1, 4},
                                                                               {2, 2, 10},
                                                                               {3, 3, 6},
                                                                               {3, 5, 3}});
    CHECK(contents(with_self_loops(relation, SelfLoops::renewed), 8) == Rows{{0, 0, 8},
                                                                             {0, 2, 2},
                                                                             {0, 2, 7},
                                                                             {1, 0, 0},
                                                                             {1, 0, 5},
                                                                             {1, 1, 9},
                                                                             {2, 2, 10},
                                                                             {3, 3, 11},
                                                                             {3, 5, 3}});
    CHECK(contents(with_self_loops(relation, SelfLoops::added), 8) == Rows{{0, 0, 8},
                                                                           {0, 2, 2},
                                                                           {0, 2, 7},
                                                                           {1, 0, 0},
                                                                           {1, 0, 5},
                                                                           {1, 1, 1},
                                                                           {1, 1, 4},
                                                                           {1, 1, 9},
                                                                           {2, 2, 10},
                                                                           {3, 3, 6},
                                                                           {3, 3, 11},
                                                                           {3, 5, 3}});
    for (SelfLoops kind : {SelfLoops::removed, SelfLoops::completed, SelfLoops::renewed, SelfLoops::added})
      CHECK(with_self_loops(relation, kind).relation == with_self_loops(relation, kind).relation);
  }
}

TEST_CASE("a relation that has no loops is itself without them, and is let go") {
  for (Device device : devices()) {
    const Relation relation = Relation::from_coo(3, 3, Tensor::from(std::vector<int32_t>{0, 1}, device),
                                                 Tensor::from(std::vector<int32_t>{1, 2}, device));
    const LoopedRelation bare = with_self_loops(relation, SelfLoops::removed);
    CHECK(bare.relation == relation);
    CHECK(!bare.origin);
    // Without nodes or edges there is nothing to wait for.
    const Tensor none = Tensor::empty({0}, DType::i32, device);
    CHECK(with_self_loops(Relation::from_coo(0, 0, none, none), SelfLoops::renewed).relation.num_edges() ==
          0);
    CHECK(with_self_loops(Relation::from_coo(2, 3, none, none), SelfLoops::renewed).relation.num_edges() ==
          2);
  }
}

TEST_CASE("dropout_edge keeps edges with its probability, by their numbers, and what they carry") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    Draw draw(310, device, DType::f32);
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
    const auto became = left.merged_into.to_vector<int32_t>(), from = left.edge_map.to_vector<int32_t>();
    CHECK(std::count(became.begin(), became.end(), -1) == 20000 - left.num_edges());
    for (size_t k = 0; k < from.size(); ++k)
      REQUIRE(became[static_cast<size_t>(from[k])] == static_cast<int32_t>(k));
    // Of a list and of a CSR: where nothing is dropped, edges are numbered as where something is.
    for (const Graph& source : {graph, Graph(coalesce(graph))}) {
      const int64_t edges = source.num_edges();
      const Transformed numbered = edge_subgraph(source, random_permutation(edges, generator, device));
      for (const Transformed& whole :
           {dropout_edge(source, 0.0f), dropout_edge(source, 0.5f, false, false)}) {
        CHECK(whole.num_edges() == edges);
        CHECK(same_bits(whole.edge_index().src, numbered.edge_index().src));
        CHECK(same_bits(whole.edge_index().dst, numbered.edge_index().dst));
        const auto to = whole.merged_into.to_vector<int32_t>(), of = whole.edge_map.to_vector<int32_t>();
        for (size_t k = 0; k < of.size(); ++k)
          REQUIRE(to[static_cast<size_t>(of[k])] == static_cast<int32_t>(k));
        CHECK(same_bits(whole.edge_weight(), detail::gather_edges(source.edge_weight(), whole.edge_map)));
        CHECK(same_bits(whole.edge_attr("number"),
                        detail::gather_edges(source.edge_attr("number"), whole.edge_map)));
      }
    }
  }
  CHECK_THROWS_AS(dropout_edge(Draw(1).graph(5, 9), 1.0f), Error);
}

TEST_CASE("dropout_edge of an undirected graph drops both directions or none") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    Draw draw(311, device, DType::f32);
    const Graph graph = add_self_loops(to_undirected(draw.graph(100, 2000)));
    Generator generator(5);
    const Transformed left = dropout_edge(graph, 0.5f, true, true, generator);
    CHECK(left.is_symmetric());
    CHECK(std::abs(static_cast<double>(left.num_edges()) / static_cast<double>(graph.num_edges()) - 0.5) <
          0.05);
    // No edge twice, loops neither.
    CHECK(coalesce(left).num_edges() == left.num_edges());
    const Transformed whole = dropout_edge(graph, 1e-6f, true, true, generator);
    CHECK(whole.num_edges() == graph.num_edges());
  }
}
