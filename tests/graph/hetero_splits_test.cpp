#include "edges.h"
#include <adjoint/graph/joint_graph.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/graph/splits.h>

using namespace adj;
using namespace adj::test;

namespace {

const EdgeType kTook{"user", "took", "item"}, kBack{"item", "rev_took", "user"},
    kCopy{"item", "owner", "user"}, kSaw{"user", "saw", "item"}, kKnows{"user", "knows", "user"},
    kKnown{"user", "knows^-1", "user"};
constexpr int32_t kUsers = 40, kItems = 25;

std::vector<Cell> turned(std::vector<Cell> cells) {
  for (Cell& cell : cells) std::swap(cell.first, cell.second);
  return cells;
}
/// Each once, within one type from the smaller node.
std::set<Cell> pairs_of(const std::vector<Cell>& cells, bool one_type = false) {
  std::set<Cell> pairs;
  for (Cell cell : cells) {
    if (one_type && cell.first == cell.second) continue;
    pairs.insert(one_type ? Cell(std::minmax(cell.first, cell.second)) : cell);
  }
  return pairs;
}
HeteroGraph::Edges relation(int64_t src, int64_t dst, const std::vector<Cell>& cells) {
  std::vector<int32_t> src_ids, dst_ids;
  std::vector<float> weight;
  for (const auto& [a, b] : cells) {
    src_ids.push_back(a), dst_ids.push_back(b);
    weight.push_back(static_cast<float>(100 * a + b));
  }
  return {Relation::from_coo(src, dst, ints(src_ids), ints(dst_ids)), {{"weight", Tensor::from(weight)}}};
}

struct Shop {
  std::vector<Cell> took = cells_of(random_ints(300, 0, kUsers).to_vector<int32_t>(),
                                    random_ints(300, 0, kItems).to_vector<int32_t>()),  // some repeated
      saw = std::vector<Cell>(took.begin(), took.begin() + 90),
                    knows = cells_of(random_ints(160, 0, kUsers).to_vector<int32_t>(),
                                     random_ints(160, 0, kUsers).to_vector<int32_t>());
  HeteroGraph graph{{{"user", kUsers}, {"item", kItems}, {"shop", 3}},
                    {{kTook, relation(kUsers, kItems, took)},
                     {kBack, relation(kItems, kUsers, turned(took))},
                     {kCopy, relation(kItems, kUsers, turned(took))},
                     {kSaw, relation(kUsers, kItems, saw)},
                     {kKnows, relation(kUsers, kUsers, knows)},
                     {kKnown, relation(kUsers, kUsers, turned(knows))}}};
};

std::vector<Cell> edges_of_type(const HeteroGraph& graph, const EdgeType& type) {
  return cells_of(graph.relation(type).edge_index());
}
std::set<Cell> both(const std::set<Cell>& a, const std::set<Cell>& b) {
  std::set<Cell> all = a;
  all.insert(b.begin(), b.end());
  return all;
}
int64_t common(const std::set<Cell>& a, const std::set<Cell>& b) {
  return std::ranges::count_if(a, [&](const Cell& cell) { return b.count(cell) > 0; });
}

}  // namespace

TEST_CASE("links of one relation are split, and hidden in all relations that have the same edges") {
  const Shop shop;
  for (const EdgeType& type : {kTook, kKnows}) {
    CAPTURE(type.str());
    const bool one_type = type.src == type.dst;
    const std::set<Cell> all = pairs_of(one_type ? shop.knows : shop.took, one_type);
    Generator generator(7);
    const HeteroLinkSplit split = random_link_split(shop.graph, type, {.val = 0.1, .test = 0.25}, generator);
    const std::set<Cell> val = pairs_of(cells_of(split.val.positive), one_type),
                         test = pairs_of(cells_of(split.test.positive), one_type),
                         left = pairs_of(cells_of(split.pairs), one_type), hidden = both(val, test);
    CHECK(std::ssize(val) == std::llround(0.1 * static_cast<double>(all.size())));
    CHECK(std::ssize(test) == std::llround(0.25 * static_cast<double>(all.size())));
    CHECK(split.pairs.src.numel() == std::ssize(left));  // each once
    CHECK(common(val, test) == 0);
    CHECK(common(hidden, left) == 0);
    CHECK(both(hidden, left) == all);
    std::set<Cell> negative;
    for (const LinkExamples* part : {&split.val, &split.test}) {
      const std::vector<Cell> drawn = cells_of(part->negative);
      CHECK(std::ssize(drawn) == part->positive.src.numel());
      for (const Cell& cell : drawn) {
        REQUIRE(cell.first >= 0);
        REQUIRE(cell.first < kUsers);
        REQUIRE(cell.second >= 0);
        REQUIRE(cell.second < (one_type ? kUsers : kItems));
      }
      negative.merge(pairs_of(drawn, one_type));
    }
    CHECK(std::ssize(negative) == std::ssize(hidden));
    CHECK(common(negative, all) == 0);
    // What the model sees.
    for (const EdgeType& other : shop.graph.edge_types()) {
      CAPTURE(other.str());
      const std::vector<Cell> before = edges_of_type(shop.graph, other);
      std::vector<Cell> expected;
      const bool same =
          one_type ? other == kKnows || other == kKnown : other == kTook || other == kBack || other == kCopy;
      for (const Cell& cell : before) {
        const Cell pair = !one_type && other.src == "item" ? Cell(cell.second, cell.first) : cell;
        if (!same || hidden.count(one_type ? Cell(std::minmax(pair.first, pair.second)) : pair) == 0)
          expected.push_back(cell);
      }
      CHECK(edges_of_type(split.train, other) == expected);
      const auto weight = split.train.edge_attr(other, "weight").to_vector<float>();
      for (size_t e = 0; e < expected.size(); ++e)
        REQUIRE(weight[e] == static_cast<float>(100 * expected[e].first + expected[e].second));
    }
    if (one_type) {
      CHECK(split.same == std::vector{kKnown});
      CHECK(split.also.empty());
    } else {
      CHECK(split.same == std::vector{kCopy, kBack});
      REQUIRE(split.also.size() == 1);
      CHECK(split.also.at(kSaw) == common(pairs_of(shop.saw), hidden));
    }
  }
}

TEST_CASE("splits of links are refused for unknown relations and dense ones") {
  const Shop shop;
  Generator generator(1);
  CHECK_THROWS_AS(random_link_split(shop.graph, {"user", "ate", "item"}, {}, generator), Error);
  CHECK_THROWS_AS(random_link_split(shop.graph, kTook, {.val = 0.8, .test = 0.3}, generator), Error);
  const HeteroGraph dense({{"a", 2}, {"b", 2}},
                          {{{"a", "r", "b"}, relation(2, 2, {{0, 0}, {0, 1}, {1, 0}, {1, 1}})}});
  CHECK_THROWS_AS(random_link_split(dense, {"a", "r", "b"}, {.val = 0.25, .test = 0.25}, generator), Error);
}

TEST_CASE("negative pairs are between the types of a relation, without an edge, each as likely") {
  const Shop shop;
  const GraphSchema schema{.nodes = {{"shop", 3}, {"user", kUsers}, {"item", kItems}},
                           .relations = relations_of(shop.graph, true)};
  const Graph joint = join(shop.graph, schema);
  const std::set<Cell> took = pairs_of(shop.took), knows = pairs_of(shop.knows, true);
  Generator generator(3);
  const EdgeIndex known{ints({3 + 5}), ints({3 + kUsers + 2})};  // user 5, item 2
  constexpr int64_t kDrawn = 200'000;
  for (const EdgeType& type : {kTook, kKnows}) {
    const bool one_type = type == kKnows;
    const JointPairs pairs = pairs_of(schema, type);
    CHECK(pairs.within_type() == one_type);
    CHECK(schema.relations.at(uz(pairs.relations.front())) == type);
    const EdgeIndex none{ints({}), ints({})};
    const NegativePairs negatives(joint, one_type ? none : known, pairs);
    std::map<Cell, double> count;
    for (const Cell& cell : cells_of(negatives.draw(kDrawn, generator)))
      ++count[{cell.first - 3, cell.second - 3 - (one_type ? 0 : kUsers)}];
    std::vector<double> counts;
    for (int32_t a = 0; a < kUsers; ++a)
      for (int32_t b = 0; b < (one_type ? kUsers : kItems); ++b) {
        if (one_type && a >= b) continue;  // pairs have no direction
        if (one_type ? knows.count({a, b}) > 0 : took.count({a, b}) > 0 || Cell(a, b) == Cell(5, 2)) {
          CHECK(count.count({a, b}) == 0);
        } else {
          counts.push_back(count[{a, b}]);
        }
      }
    check_counts(counts, std::vector<double>(counts.size(), 1.0 / static_cast<double>(counts.size())),
                 static_cast<double>(kDrawn));
  }
}
