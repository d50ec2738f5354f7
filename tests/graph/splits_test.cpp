#include "edges.h"
#include <adjoint/graph/splits.h>

#include <algorithm>
#include <cmath>

using namespace adj;
using namespace adj::test;

namespace {

/// The nodes of each edge, in any direction.
std::set<Cell> pairs_of(const EdgeIndex& edges) {
  std::set<Cell> pairs;
  for (const auto& [a, b] : cells_of(edges)) pairs.insert({std::min(a, b), std::max(a, b)});
  return pairs;
}

Graph weighted_graph(int32_t nodes, int64_t edges, Device device = {}) {
  return random_graph(nodes, edges, device, random_tensor({edges}, DType::f32, device));
}

/// draw(generator) is the same for the same seed only.
template <class F>
void check_seeds(F&& draw) {
  Generator one(1), same(1), other(2);
  const Tensor first = draw(one);
  CHECK(same_bits(first, draw(same)));
  CHECK_FALSE(same_bits(first, draw(other)));
}

bool disjoint(const std::set<Cell>& a, const std::set<Cell>& b) {
  return std::none_of(a.begin(), a.end(), [&](const Cell& cell) { return b.contains(cell); });
}

}  // namespace

TEST_CASE("every node is in one part of a node split") {
  for (Device device : devices())
    for (int64_t n : {0, 1, 7, 1000}) {
      Generator generator(1);
      const NodeSplit split = random_node_split(n, {.val = 0.2, .test = 0.3}, generator, device);
      CHECK(split.val.numel() == std::llround(0.2 * static_cast<double>(n)));
      CHECK(split.test.numel() == std::llround(0.3 * static_cast<double>(n)));
      std::vector<int32_t> all;
      for (const Tensor& part : {split.train, split.val, split.test}) {
        CHECK(part.device() == device);
        const auto nodes = part.to_vector<int32_t>();
        CHECK(std::is_sorted(nodes.begin(), nodes.end()));
        all.insert(all.end(), nodes.begin(), nodes.end());
      }
      std::sort(all.begin(), all.end());
      CHECK(all == numbers(n));
    }
  check_seeds([](Generator& generator) { return random_node_split(500, {}, generator).test; });
  Generator one(1);
  CHECK(random_node_split(10, {.val = 0.5, .test = 0.5}, one).train.numel() == 0);
  CHECK_THROWS_AS(random_node_split(10, {.val = 0.6, .test = 0.5}, one), Error);
  CHECK_THROWS_AS(random_node_split(10, {.val = -0.1, .test = 0.5}, one), Error);
}

TEST_CASE("a stratified split gives every class its share") {
  std::vector<int32_t> labels;
  for (int32_t i = 0; i < 1003; ++i) labels.push_back(i % 11 == 0 ? -1 : i % 7 == 0 ? 2 : i % 3 == 0 ? 1 : 0);
  for (Device device : devices()) {
    Generator generator(1);
    const NodeSplit split =
        stratified_node_split(Tensor::from(labels, device), {.val = 0.15, .test = 0.35}, generator);
    std::vector<int32_t> all;
    double n = 0, of_class[3] = {};
    for (int32_t label : labels)
      if (label >= 0) ++n, ++of_class[label];
    const auto check = [&](const Tensor& part, double share) {
      CHECK(part.device() == device);
      double found[3] = {};
      for (int32_t i : part.to_vector<int32_t>()) {
        all.push_back(i);
        REQUIRE(labels[uz(i)] >= 0);
        ++found[labels[uz(i)]];
      }
      CHECK(std::abs(static_cast<double>(part.numel()) - share * n) < 1);
      for (int c = 0; c < 3; ++c) CHECK(std::abs(found[c] - share * of_class[c]) < 2);
    };
    check(split.train, 0.5);
    check(split.val, 0.15);
    check(split.test, 0.35);
    CHECK(set_of(all).size() == all.size());
    CHECK(static_cast<double>(all.size()) == n);
  }
  const Tensor y = Tensor::from(labels);
  check_seeds([&](Generator& generator) { return stratified_node_split(y, {}, generator).test; });
  Generator one(1);
  CHECK_THROWS_AS(stratified_node_split(y, {.val = 0.6, .test = 0.5}, one), Error);
  CHECK_THROWS_AS(stratified_node_split(random_tensor({3}), {}, one), Error);
}

TEST_CASE("a link split removes pairs of nodes, with both directions and parallel edges") {
  for (Device device : devices())
    for (bool undirected : {false, true}) {
      CAPTURE(undirected);
      const Graph drawn = weighted_graph(60, 500, device);
      const Graph graph = undirected ? Graph(to_undirected(drawn)) : drawn;
      Generator generator(4);
      const LinkSplit split = random_link_split(graph, {.val = 0.1, .test = 0.2}, generator);
      const std::set<Cell> train = pairs_of(split.train.edge_index()), val = pairs_of(split.val.positive),
                           test = pairs_of(split.test.positive);
      CHECK(disjoint(train, val));
      CHECK(disjoint(train, test));
      CHECK(disjoint(val, test));
      std::set<Cell> all = pairs_of(graph.edge_index()), loops;
      for (const Cell& cell : all)
        if (cell.first == cell.second) loops.insert(cell);
      CHECK(std::includes(train.begin(), train.end(), loops.begin(), loops.end()));
      const auto pairs = static_cast<double>(all.size() - loops.size());
      CHECK(static_cast<int64_t>(val.size()) == std::llround(0.1 * pairs));
      CHECK(static_cast<int64_t>(test.size()) == std::llround(0.2 * pairs));
      CHECK(train.size() + val.size() + test.size() == all.size());

      // Lists every direction with an edge once; one of both if the graph is symmetric.
      const std::set<Cell> directed = set_of(cells_of(graph.edge_index()));
      for (const LinkExamples& part : {split.val, split.test}) {
        const std::vector<Cell> cells = cells_of(part.positive);
        CHECK(set_of(cells).size() == cells.size());
        size_t expected = 0;
        const std::set<Cell> mine = pairs_of(part.positive);
        for (const Cell& cell : directed)
          expected += mine.contains({std::min(cell.first, cell.second), std::max(cell.first, cell.second)});
        CHECK(cells.size() == (undirected ? mine.size() : expected));
        for (const Cell& cell : cells) CHECK(directed.contains(cell));
      }

      // The negatives.
      std::vector<Cell> negative = cells_of(split.val.negative);
      CHECK(negative.size() == cells_of(split.val.positive).size());
      const std::vector<Cell> more = cells_of(split.test.negative);
      CHECK(more.size() == cells_of(split.test.positive).size());
      negative.insert(negative.end(), more.begin(), more.end());
      CHECK(set_of(negative).size() == negative.size());
      for (const Cell& cell : negative) CHECK((!directed.contains(cell) && cell.first != cell.second));

      // Training edges keep their weights.
      const std::vector<int32_t> map = split.train.edge_map.to_vector<int32_t>();
      const std::vector<float> weight = graph.edge_weight().to_vector<float>(),
                               kept = split.train.edge_weight().to_vector<float>();
      for (size_t e = 0; e < map.size(); ++e) CHECK(kept[e] == weight[uz(map[e])]);
      CHECK(!undirected == !split.train.is_symmetric());
    }
}

TEST_CASE("an undirected link split has each pair once, and negatives without an edge in either direction") {
  for (Device device : devices()) {
    const Graph graph = weighted_graph(60, 700, device);  // some pairs have both directions
    Generator generator(4);
    const LinkSplit split = random_link_split(graph, {.val = 0.1, .test = 0.2}, generator, true);
    const std::set<Cell> directed = set_of(cells_of(graph.edge_index())),
                         joined = pairs_of(graph.edge_index());
    std::set<Cell> seen;
    size_t count = 0;
    for (const EdgeIndex& part : {split.val.positive, split.test.positive, split.val.negative,
                                  split.test.negative, linked_pairs(split.train, true)}) {
      const std::set<Cell> pairs = pairs_of(part);
      seen.insert(pairs.begin(), pairs.end());
      count += cells_of(part).size();
    }
    CHECK(seen.size() == count);
    for (const LinkExamples& part : {split.val, split.test}) {
      CHECK(part.negative.src.numel() == part.positive.src.numel());
      for (const Cell& cell : cells_of(part.positive)) CHECK(directed.contains(cell));
      CHECK(disjoint(pairs_of(part.negative), joined));
    }
  }
}

TEST_CASE("a link split depends on graph and generator, not on the device") {
  const Graph graph = weighted_graph(80, 600);
  const auto split = [&](Device device, uint64_t seed) {
    Generator generator(seed);
    return random_link_split(graph.to(device), {}, generator);
  };
  const LinkSplit first = split({}, 1);
  for (Device device : devices()) {
    const LinkSplit again = split(device, 1);
    CHECK(same_bits(first.train.edge_map, again.train.edge_map));
    CHECK(same_bits(first.test.positive.src, again.test.positive.src));
    CHECK(same_bits(first.test.negative.dst, again.test.negative.dst));
  }
  CHECK(!same_bits(first.train.edge_map, split({}, 2).train.edge_map));
}

TEST_CASE("stratified folds have equal shares of every class") {
  std::vector<int32_t> labels;
  for (int32_t i = 0; i < 1113; ++i) labels.push_back(i % 7 == 0 ? -1 : i % 5 < 3 ? 0 : i % 3);
  for (Device device : devices()) {
    Generator generator(3);
    const Tensor y = Tensor::from(labels, device);
    const Tensor folds = stratified_folds(y, 10, generator);
    CHECK(folds.device() == device);
    const auto fold = folds.to_vector<int32_t>();
    std::vector<int64_t> sizes(10);
    std::vector<std::vector<int64_t>> of_class(3, std::vector<int64_t>(10));
    for (size_t i = 0; i < labels.size(); ++i) {
      CHECK((fold[i] == -1) == (labels[i] == -1));
      if (labels[i] < 0) continue;
      ++sizes.at(uz(fold[i]));
      ++of_class[uz(labels[i])][uz(fold[i])];
    }
    of_class.push_back(sizes);
    for (const auto& counts : of_class) {
      const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
      CHECK(*most - *least <= 1);
    }
    check_seeds([&](Generator& seeded) { return stratified_folds(y, 10, seeded); });
  }
  Generator generator(1);
  const Tensor three = ints({0, 1, 0, -1});
  CHECK_ERROR(stratified_folds(three, 4, generator),
              "stratified_folds: 4 folds of 3 labelled items, expected 2 to 3");
  CHECK_THROWS_AS(stratified_folds(three, 1, generator), Error);
  CHECK_THROWS_AS(stratified_folds(Tensor::zeros({3}), 2, generator), Error);
}

TEST_CASE("linked pairs: each once, without self-loops, in one direction of a symmetric graph") {
  for (Device device : devices()) {
    const EdgeIndex both = linked_pairs(graph_of(4, {1, 0, 2, 0, 2, 3, 3}, {0, 1, 0, 2, 2, 1, 1}, device));
    CHECK(cells_of(both) == std::vector<Cell>{{1, 0}, {2, 0}, {0, 1}, {3, 1}, {0, 2}});
    const EdgeIndex one = linked_pairs(graph_of(4, {1, 0, 2, 0, 2, 1, 0}, {0, 1, 0, 2, 2, 0, 1}, device));
    CHECK(cells_of(one) == std::vector<Cell>{{0, 1}, {0, 2}});
    CHECK(one.src.device() == device);
    CHECK(linked_pairs(graph_of(4, {1}, {1}, device)).src.numel() == 0);
  }
}
