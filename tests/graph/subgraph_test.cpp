#include "edges.h"
#include <adjoint/graph/detail/node_set.h>
#include <adjoint/graph/subgraph.h>
#include <adjoint/graph/transforms.h>

#include <algorithm>

using namespace adj;
using namespace adj::test;

namespace {

/// With parallel edges, self-loops and nodes without edges.
Graph drawn_graph(int64_t nodes, int64_t edges, bool symmetric, bool as_list) {
  std::vector<int32_t> src = random_ints(edges, 0, static_cast<int32_t>(nodes)).to_vector<int32_t>(),
                       dst = random_ints(edges, 0, static_cast<int32_t>(nodes) * 3 / 4 + 1)
                                 .to_vector<int32_t>();
  if (symmetric)
    for (int64_t e = 0; e < edges; ++e) {
      src.push_back(dst[uz(e)]);
      dst.push_back(src[uz(e)]);
    }
  const auto count = std::ssize(src);
  const Tensor weight = random_tensor({count}), type = random_ints(count, 0, 9),
               row = random_tensor({count, 3});
  const EdgeAttributes attributes{{"type", type}, {"row", row}};
  return as_list ? Graph(relation_of({nodes, src, dst}), weight, attributes)
                 : Graph::from_coo(nodes, ints(src), ints(dst), weight, attributes);
}

}  // namespace

TEST_CASE("subgraph_of equals induced_subgraph of the distinct nodes") {
  for (bool symmetric : {false, true})
    for (bool as_list : {false, true})
      for (int threads : {1, 3}) {
        const Threads scope(threads);
        const Graph graph = drawn_graph(3000, 20000, symmetric, as_list);
        std::vector<int32_t> nodes = random_ints(1500, 0, 3000).to_vector<int32_t>();  // some of them twice
        const Subgraph part = subgraph_of(graph, ints(nodes));
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
  const Graph graph = drawn_graph(130, 900, false, false);
  const Subgraph none = subgraph_of(graph, ints({}));
  CHECK(none.graph.num_nodes() == 0);
  CHECK(none.graph.num_edges() == 0);
  const Subgraph one = subgraph_of(graph, ints({7}));
  CHECK(one.graph.num_nodes() == 1);
  std::vector<int32_t> every = numbers(130);
  std::reverse(every.begin(), every.end());
  const Subgraph all = subgraph_of(graph, ints(every));
  CHECK(same_bits(all.graph.in_edges().indices, graph.in_edges().indices));
  CHECK(same_bits(all.graph.edge_weight(), graph.edge_weight()));
}

TEST_CASE("a node out of range is refused with its position") {
  const Graph graph = random_graph(64, 100);
  CHECK_ERROR(subgraph_of(graph, ints({3, 64})), "subgraph_of: node 64 at position 1, expected 0 to 63");
  CHECK_THROWS_AS(subgraph_of(graph, ints({-1})), Error);
  CHECK_THROWS_AS(subgraph_of(graph, Tensor::zeros({2})), Error);
}

TEST_CASE("the rank in a node set is the number of members below") {
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
