#include "../support.h"
#include <adjoint/graph/detail/node_set.h>
#include <adjoint/graph/generate/generators.h>
#include <adjoint/graph/subgraph.h>
#include <adjoint/graph/transforms.h>

#include <algorithm>

using namespace adj;
using namespace adj::test;

namespace {

/// With parallel edges, self-loops and nodes without edges.
Graph random_graph(int64_t nodes, int64_t edges, bool symmetric, bool as_list) {
  std::vector<int32_t> src = random_ints(edges, 0, static_cast<int32_t>(nodes)).to_vector<int32_t>(),
                       dst = random_ints(edges, 0, static_cast<int32_t>(nodes) * 3 / 4 + 1)
                                 .to_vector<int32_t>();
  if (symmetric)
    for (int64_t e = 0; e < edges; ++e) {
      src.push_back(dst[static_cast<size_t>(e)]);
      dst.push_back(src[static_cast<size_t>(e)]);
    }
  const auto count = std::ssize(src);
  const Tensor weight = random_tensor({count}), type = random_ints(count, 0, 9),
               row = random_tensor({count, 3});
  const EdgeAttributes attributes{{"type", type}, {"row", row}};
  const Tensor from = Tensor::from(src), to = Tensor::from(dst);
  return as_list ? Graph(Relation::from_coo(nodes, nodes, from, to), weight, attributes)
                 : Graph::from_coo(nodes, from, to, weight, attributes);
}

}  // namespace

TEST_CASE("a subgraph by its rows is the induced one") {
  for (bool symmetric : {false, true})
    for (bool as_list : {false, true})
      for (int threads : {1, 3}) {
        const Threads scope(threads);
        const Graph graph = random_graph(3000, 20000, symmetric, as_list);
        std::vector<int32_t> nodes = random_ints(1500, 0, 3000).to_vector<int32_t>();  // some of them twice
        const Subgraph part = subgraph_of(graph, Tensor::from(nodes));
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
        CHECK(part.nodes.to_vector<int32_t>() == nodes);
        const Transformed expected = induced_subgraph(graph, part.nodes);
        CHECK(same_bits(part.graph.in_edges().offsets, expected.in_edges().offsets));
        CHECK(same_bits(part.graph.in_edges().indices, expected.in_edges().indices));
        CHECK(same_bits(part.edges, expected.edge_map));
        CHECK(same_bits(part.graph.edge_weight(), expected.edge_weight()));
        CHECK(same_bits(part.graph.edge_attr("type"), expected.edge_attr("type")));
        CHECK(same_bits(part.graph.edge_attr("row"), expected.edge_attr("row")));
        CHECK(part.graph.relation().symmetric() == symmetric);
      }
}

TEST_CASE("a subgraph of no nodes, of one, of all") {
  const Graph graph = random_graph(130, 900, false, false);
  const Subgraph none = subgraph_of(graph, Tensor::empty({0}, DType::i32));
  CHECK(none.graph.num_nodes() == 0);
  CHECK(none.graph.num_edges() == 0);
  const Subgraph one = subgraph_of(graph, Tensor::from(std::vector<int32_t>{7}));
  CHECK(one.graph.num_nodes() == 1);
  std::vector<int32_t> every(130);
  for (int32_t i = 0; i < 130; ++i) every[static_cast<size_t>(i)] = 129 - i;
  const Subgraph all = subgraph_of(graph, Tensor::from(every));
  CHECK(same_bits(all.graph.in_edges().indices, graph.in_edges().indices));
  CHECK(same_bits(all.graph.edge_weight(), graph.edge_weight()));
}

TEST_CASE("a node out of range is an error that names its position") {
  const Graph graph = random_graph(64, 100, false, false);
  CHECK_THROWS_WITH_AS(subgraph_of(graph, Tensor::from(std::vector<int32_t>{3, 64})),
                       "subgraph_of: node 64 at position 1, expected 0 to 63", Error);
  CHECK_THROWS_AS(subgraph_of(graph, Tensor::from(std::vector<int32_t>{-1})), Error);
  CHECK_THROWS_AS(subgraph_of(graph, Tensor::zeros({2})), Error);
}

TEST_CASE("a node set counts its members below") {
  for (int64_t n : {1, 63, 64, 65, 1000}) {
    detail::NodeSet set(n);
    std::vector<int32_t> members;
    for (int32_t i = 0; i < n; i += 1 + i % 3) members.push_back(i);
    set.insert(members);
    CHECK(set.size() == std::ssize(members));
    CHECK(set.members() == members);
    for (int32_t i = 0; i < n; ++i) {
      const auto place = std::lower_bound(members.begin(), members.end(), i);
      CHECK(set.contains(i) == (place != members.end() && *place == i));
      CHECK(set.rank(i) == place - members.begin());
    }
  }
}
