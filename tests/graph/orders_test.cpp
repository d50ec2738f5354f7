#include "edges.h"
#include <adjoint/graph/order/orders.h>
#include <adjoint/graph/order/partition.h>
#include <adjoint/graph/transforms.h>

#include <algorithm>
#include <numeric>

using namespace adj;
using namespace adj::test;

namespace {

using Order = std::vector<int32_t>;

Tensor shuffled(int64_t nodes, uint64_t seed = 1, Device device = {}) {
  Generator generator(seed);
  return random_order(nodes, generator, device);
}

std::vector<EdgeList> graphs() { return edge_lists(4000, 20000); }

bool is_permutation_of(const Tensor& order, int64_t nodes) {
  Order all = order.to_vector<int32_t>();
  std::sort(all.begin(), all.end());
  return all == numbers(nodes);
}

}  // namespace

TEST_CASE("every order is a permutation, equal on every device and for any number of threads") {
  for (const EdgeList& list : graphs())
    for (const std::string& name : order_names()) {
      CAPTURES(list.nodes, list.src.size(), name);
      const OrderOptions options{.seed = 3};
      const Tensor order = named_order(name, graph_of(list), options);
      CHECK(is_permutation_of(order, list.nodes));
      for (Device device : devices()) {
        const Tensor result = named_order(name, graph_of(list, device), options);
        CHECK(result.device() == device);
        CHECK(same_bits(result.to(Device::cpu()), order));
      }
      for (int count : {1, 3}) {
        const Threads threads(count);
        CHECK(same_bits(named_order(name, graph_of(list), options), order));
      }
      // From any form of the relation.
      const Graph graph = graph_of(list);
      CHECK(same_bits(named_order(name, Relation::from_transposed(graph.out_edges()), options), order));
      CHECK(same_bits(named_order(name, relation_of(list), options), order));
    }
}

TEST_CASE("reverse Cuthill-McKee finds the band of a grid that was shuffled") {
  constexpr int64_t kRows = 60, kColumns = 25;
  const Graph grid = graph_of(thinned_grid(kRows * kColumns, kColumns, 2 * (59 * 25 + 60 * 24), 1));
  CHECK(edge_spans(grid).bandwidth == kColumns);
  const Graph mixed = permuted(grid, shuffled(kRows * kColumns));
  CHECK(edge_spans(mixed).bandwidth > 1000);
  const EdgeSpans spans = edge_spans(permuted(mixed, rcm_order(mixed)));
  CHECK(spans.bandwidth <= kColumns + 2);
  CHECK(spans.mean <= kColumns);
  // Two paths: each becomes a line.
  const Graph ways = graph_of({7, {6, 0, 3, 1, 5}, {0, 3, 1, 4, 2}});
  CHECK(edge_spans(permuted(ways, rcm_order(ways))).bandwidth == 1);
}

TEST_CASE("reverse Cuthill-McKee by hand") {
  // From node 0 the farthest is 5; from there, reversed, neighbours by degree.
  const Graph graph = graph_of({6, {0, 0, 1, 2, 3, 1, 4}, {1, 2, 3, 3, 5, 4, 3}});
  // Levels from 5: {3}, {1, 2, 4}, {0}; degrees of 1, 2 and 4 are 3, 2 and 2.
  CHECK(rcm_order(graph).to_vector<int32_t>() == Order{0, 1, 4, 2, 3, 5});
}

TEST_CASE("Rabbit order gathers communities") {
  const PlantedPartition planted = planted_partition(1200, 12, 20.0, 0.95, 5);
  const Graph graph = graph_of(planted.edges);
  const Tensor order = rabbit_order(graph);
  // Runs of one block: 12 would be perfect, a random order has some 1100.
  const Order nodes = order.to_vector<int32_t>();
  int64_t runs = 1;
  for (size_t k = 1; k < nodes.size(); ++k)
    runs += planted.block[uz(nodes[k])] != planted.block[uz(nodes[k - 1])];
  CHECK(runs <= 120);
  CHECK(edge_spans(permuted(graph, order)).median < edge_spans(graph).median / 3);
}

TEST_CASE("Rabbit order by hand") {
  // Two triangles and a bridge 2-3, and the isolated node 6. By degree: 0 into 1 (of equal gains, 1 and 2,
  // the smaller number), then 1 into 2; 4 into 5, 5 into 3; merging 2 and 3 would lower the modularity.
  const Graph graph = graph_of({7, {0, 1, 2, 2, 3, 4, 5}, {1, 2, 0, 3, 4, 5, 3}});
  CHECK(rabbit_order(graph).to_vector<int32_t>() == Order{2, 1, 0, 3, 5, 4, 6});
}

TEST_CASE("METIS's order has block after block, each in its original order") {
  const Graph graph = graph_of(planted_partition(2000, 8, 20.0, 0.9, 5).edges);
  const auto part = metis_partition(graph, 8, {.seed = 2}).to_vector<int32_t>();
  const Order order = metis_order(graph, 8, 2).to_vector<int32_t>();
  for (size_t k = 1; k < order.size(); ++k) {
    const auto a = uz(order[k - 1]), b = uz(order[k]);
    CHECK(std::pair(part[a], a) < std::pair(part[b], b));
  }
  CHECK(same_bits(metis_order(graph, 0), metis_order(graph, 1)));  // fewer nodes than two blocks have
}

TEST_CASE("the order by degree has hubs first, and equal degrees in their original order") {
  CHECK(degree_order(graph_of(star_graph(4, false))).to_vector<int32_t>() == Order{0, 1, 2, 3, 4});
  const Graph graph = graph_of({5, {0, 4, 4, 2, 2, 3}, {4, 0, 3, 4, 2, 1}});  // degrees 2, 1, 3, 2, 4
  CHECK(degree_order(graph).to_vector<int32_t>() == Order{4, 2, 0, 3, 1});
}

TEST_CASE("spans of edges are those of plain loops") {
  for (const EdgeList& list : graphs()) {
    std::vector<int64_t> spans;
    for (size_t e = 0; e < list.src.size(); ++e) spans.push_back(std::abs(list.src[e] - list.dst[e]));
    std::sort(spans.begin(), spans.end());
    for (Device device : devices()) {
      const EdgeSpans found = edge_spans(graph_of(list, device));
      CHECK(found.bandwidth == (spans.empty() ? 0 : spans.back()));
      CHECK(found.median == (spans.empty() ? 0 : spans[(spans.size() - 1) / 2]));
      const auto sum = static_cast<double>(std::reduce(spans.begin(), spans.end()));
      CHECK(found.mean == doctest::Approx(spans.empty() ? 0.0 : sum / static_cast<double>(spans.size())));
    }
  }
}

TEST_CASE("a permuted graph is the same one, and the inverse gives back the same bits") {
  for (Device device : devices())
    for (const EdgeList& list : graphs()) {
      const int64_t edges = std::ssize(list.src);
      const Graph graph = Graph::from_coo(list.nodes, ints(list.src, device), ints(list.dst, device),
                                          random_tensor({edges}, DType::f32, device),
                                          {{"length", random_tensor({edges, 2}, DType::f64, device)}});
      const Tensor order = shuffled(list.nodes, 5, device);
      const Transformed result = permuted(graph, order);
      CHECK(result.device() == device);
      const auto node = order.to_vector<int32_t>(), map = result.edge_map.to_vector<int32_t>(),
                 merged = result.merged_into.to_vector<int32_t>();
      const std::vector<Cell> before = cells_of(graph.edge_index()), after = cells_of(result.edge_index());
      REQUIRE(std::ssize(after) == edges);
      for (size_t e = 0; e < after.size(); ++e) {
        const auto old = uz(map[e]);
        const auto [src, dst] = after[e];
        CHECK(merged[old] == static_cast<int32_t>(e));
        CHECK(Cell{node[uz(src)], node[uz(dst)]} == before[old]);
      }
      CHECK(same_bits(result.edge_weight(), detail::gather_edges(graph.edge_weight(), result.edge_map)));
      const Transformed back = permuted(result, inverse_order(order));
      CHECK(same_bits(back.in_edges().offsets, graph.in_edges().offsets));
      CHECK(same_bits(back.in_edges().indices, graph.in_edges().indices));
      CHECK(same_bits(back.edge_weight(), graph.edge_weight()));
      CHECK(same_bits(back.edge_attr("length"), graph.edge_attr("length")));
    }
}

TEST_CASE("with graph offsets, nodes are ordered within each graph") {
  // Graphs of 3, 0, 4 and 1 nodes.
  const Graph graph = graph_of({8, {0, 1, 3, 3, 3}, {1, 2, 4, 5, 6}});
  const Tensor offsets = longs({0, 3, 3, 7, 8});
  for (const std::string& name : order_names()) {
    CAPTURE(name);
    const Order all = named_order(name, graph, {.parts = 3, .seed = 2}).to_vector<int32_t>();
    const Order graph_order =
        named_order(name, graph, {.parts = 3, .seed = 2, .graph_offsets = offsets}).to_vector<int32_t>();
    Order expected;
    for (const auto& [first, last] : {std::pair{0, 3}, {3, 7}, {7, 8}})
      for (int32_t node : all)
        if (node >= first && node < last) expected.push_back(node);
    CHECK(graph_order == expected);
  }
}

TEST_CASE("invalid permutations and unknown orders are refused") {
  const Graph graph = graph_of(star_graph(3, false));
  CHECK_THROWS_WITH_AS(named_order("best", graph),
                       "order 'best': expected one of metis, rcm, rabbit, degree, random", UsageError);
  CHECK_THROWS_AS(metis_order(graph, -1), Error);
  CHECK_ERROR(order_by_part(ints({0, 1, -1})), "order_by_part: part[2] is -1, expected 0 to 2");
  CHECK_THROWS_AS(order_by_part(ints({0, 3, 1})), Error);
  CHECK_THROWS_AS(order_by_part(Tensor()), Error);
  CHECK_THROWS_AS(order_by_part(Tensor::zeros({3})), Error);
  const Relation wide = Relation::from_coo(5, 4, ints({0, 1}), ints({0, 1}));
  for (const char* name : {"metis", "rcm", "rabbit", "degree"})
    CHECK_THROWS_AS(named_order(name, wide), Error);
  CHECK_THROWS_AS(rcm_order(Relation()), Error);
  CHECK_ERROR(permuted(graph, ints({0, 1, 2})), "permuted: an order of 3 nodes for 4, expected all of them");
  CHECK_THROWS_AS(permuted(graph, ints({0, 1, 2, 4})), Error);
  CHECK_THROWS_AS(permuted(graph, ints({0, 1, 2, 3, 3})), Error);
  CHECK_ERROR(permuted(graph, ints({0, 1, 2, 1})), "permuted: node 1 occurs at 1 and at 3, expected once");
  CHECK_THROWS_AS(permuted(graph, Tensor()), Error);
  CHECK_THROWS_AS(permuted(graph, longs({0, 1, 2, 3})), Error);
  CHECK_ERROR(inverse_order(ints({0, 2})), "order: node 2 at position 1, expected 0 to 1");
  CHECK_ERROR(inverse_order(ints({0, -1})), "order: node -1 at position 1, expected 0 to 1");
  CHECK_ERROR(inverse_order(ints({1, 0, 1})),
              "order: node 1 at position 2 occurs twice, expected each node once");
  CHECK_THROWS_AS(inverse_order(Tensor()), Error);
  CHECK_THROWS_AS(order_within(ints({0, 1}), longs({0, 1})), Error);
  CHECK_THROWS_AS(order_within(ints({0, 1}), longs({1, 2})), Error);
  CHECK_THROWS_AS(order_within(ints({0, 1}), longs({0, 2, 1, 2})), Error);
  CHECK_THROWS_AS(order_within(ints({0, 0}), longs({0, 2})), Error);
  CHECK_THROWS_AS(order_within(ints({0, 1}), Tensor()), Error);
}
