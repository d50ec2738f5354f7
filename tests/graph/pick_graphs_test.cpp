#include "edges.h"
#include <adjoint/graph/subgraph.h>

#include <algorithm>

using namespace adj;
using namespace adj::test;

namespace {

/// Edges as (source, target, weight), sorted.
using Edges = std::vector<std::tuple<int32_t, int32_t, float>>;

Edges edges_of(const Graph& graph, int64_t begin, int64_t end) {
  const std::vector<Cell> cells = cells_of(graph.edge_index());
  const auto weight = graph.edge_weight().to_vector<float>();
  const auto first = static_cast<int32_t>(begin);
  Edges edges;
  for (size_t e = 0; e < cells.size(); ++e)
    if (const auto [src, dst] = cells[e]; dst >= begin && dst < end)
      edges.emplace_back(src - first, dst - first, weight[e]);
  std::sort(edges.begin(), edges.end());
  return edges;
}

/// Graphs of these sizes, with random edges (parallel ones, self-loops), `symmetric` or not.
struct Whole {
  Tensor offsets, src, dst, weight;
  int64_t nodes = 0;

  explicit Whole(const std::vector<int64_t>& sizes, bool symmetric = false) {
    std::vector<int64_t> bounds{0};
    std::vector<int32_t> sources, targets;
    std::vector<float> w;
    for (const int64_t size : sizes) {
      const auto first = static_cast<int32_t>(bounds.back()), last = static_cast<int32_t>(first + size);
      const auto a = random_ints(3 * size, first, last).to_vector<int32_t>(),
                 b = random_ints(3 * size, first, last).to_vector<int32_t>();
      for (size_t e = 0; e < a.size(); ++e) {
        const auto value = static_cast<float>(w.size());
        sources.push_back(a[e]), targets.push_back(b[e]), w.push_back(value);
        if (symmetric) sources.push_back(b[e]), targets.push_back(a[e]), w.push_back(value);
      }
      bounds.push_back(last);
    }
    nodes = bounds.back();
    offsets = longs(bounds);
    src = ints(sources);
    dst = ints(targets);
    weight = Tensor::from(w);
  }
  /// Edges numbered as in the CSR, or as in the list.
  Graph graph(bool as_list) const {
    const EdgeAttributes attributes{{"twice", weight.clone()}};
    return as_list ? Graph(Relation::from_coo(nodes, nodes, src, dst), weight, attributes)
                   : Graph::from_coo(nodes, src, dst, weight, attributes);
  }
};

}  // namespace

TEST_CASE("picked graphs equal the originals, in the order of the pick") {
  const std::vector<int64_t> sizes{4, 1, 0, 17, 9};
  const std::vector<int32_t> which{3, 0, 3, 2, 4};
  for (bool symmetric : {false, true})
    for (bool as_list : {false, true}) {
      const Whole whole(sizes, symmetric);
      const Graph graph = whole.graph(as_list);
      const PickedGraphs picked = pick_graphs(graph, whole.offsets, ints(which));
      const auto bounds = whole.offsets.to_vector<int64_t>(),
                 picked_bounds = picked.offsets.to_vector<int64_t>();
      const auto nodes = picked.nodes.to_vector<int32_t>();
      REQUIRE(picked_bounds.size() == which.size() + 1);
      CHECK(picked_bounds.back() == picked.graph.num_nodes());
      CHECK(picked.graph.relation().symmetric() == graph.relation().symmetric());
      for (size_t k = 0; k < which.size(); ++k) {
        const auto g = uz(which[k]);
        REQUIRE(picked_bounds[k + 1] - picked_bounds[k] == sizes[g]);
        for (int64_t i = picked_bounds[k]; i < picked_bounds[k + 1]; ++i)
          CHECK(nodes[uz(i)] == bounds[g] + i - picked_bounds[k]);
        CHECK(edges_of(picked.graph, picked_bounds[k], picked_bounds[k + 1]) ==
              edges_of(graph, bounds[g], bounds[g + 1]));
      }
      CHECK(same_bits(picked.graph.edge_attr("twice"), picked.graph.edge_weight()));
    }
}

TEST_CASE("an empty pick is a graph without nodes") {
  const Whole whole({3, 2});
  const PickedGraphs none = pick_graphs(whole.graph(false), whole.offsets, ints({}));
  CHECK(none.graph.num_nodes() == 0);
  CHECK(none.graph.num_edges() == 0);
  CHECK(none.offsets.to_vector<int64_t>() == std::vector<int64_t>{0});
}

TEST_CASE("a pick out of range is refused with its position") {
  const Whole whole({3, 2});
  const Graph graph = whole.graph(false);
  const auto pick = [&](std::vector<int32_t> which) {
    return pick_graphs(graph, whole.offsets, ints(which));
  };
  CHECK_ERROR(pick({0, 2}), "pick_graphs: graph 2 at position 1, expected 0 to 1");
  CHECK_THROWS_AS(pick({-1}), Error);
  const auto with = [&](std::vector<int64_t> offsets) {
    return pick_graphs(graph, longs(offsets), ints({0}));
  };
  CHECK_ERROR(with({0, 3}), "pick_graphs: offsets from 0 to 3, expected 0 to 5 nodes");
  CHECK_ERROR(with({0, 7, 5}), "pick_graphs: offsets[0] is 0 and offsets[1] is 7, expected ascending to 5");
  CHECK_THROWS_AS(with({}), Error);
  CHECK_ERROR(pick_graphs(graph_of(5, {4}, {0}), whole.offsets, ints({0})),
              "pick_graphs: an edge from node 4 leads into the graph of nodes 0 to 2, expected edges within "
              "graphs");
}
