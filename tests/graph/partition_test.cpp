#include "edges.h"
#include <adjoint/graph/order/partition.h>

#include <algorithm>
#include <cmath>
#include <thread>

using namespace adj;
using namespace adj::test;

namespace {

/// Cliques of consecutive nodes, joined in a ring by one undirected edge a pair.
EdgeList ring_of_cliques(int32_t cliques, int32_t size) {
  EdgeList list;
  list.nodes = int64_t{cliques} * size;
  const auto join = [&](int32_t a, int32_t b) {
    list.src.insert(list.src.end(), {a, b});
    list.dst.insert(list.dst.end(), {b, a});
  };
  for (int32_t c = 0; c < cliques; ++c) {
    for (int32_t a = 0; a < size; ++a)
      for (int32_t b = 0; b < a; ++b) join(c * size + a, c * size + b);
    join(c * size, (c + 1) % cliques * size + 1);
  }
  return list;
}

}  // namespace

TEST_CASE("a partition has a part for every node, and no part is empty") {
  for (Device device : devices())
    for (const EdgeList& list : edge_lists(400, 4000))
      for (int64_t parts : {1, 2, 3, 17, 49, 60, 1000}) {
        CAPTURES(list.nodes, list.src.size(), parts);
        const Relation relation = relation_of(list, device);
        const Tensor part = metis_partition(relation, parts);
        REQUIRE(part.shape() == Shape{list.nodes});
        CHECK(part.device() == device);
        const auto assignment = part.to_vector<int32_t>();
        const std::set<int32_t> used = set_of(assignment);
        CHECK(std::ssize(used) == std::min(parts, list.nodes));
        if (!used.empty()) CHECK(*used.begin() == 0);
        if (!used.empty()) CHECK(*used.rbegin() == std::ssize(used) - 1);
        CHECK(same_bits(metis_partition(relation, parts), part));
        if (list.nodes == 0) continue;
        const PartitionSummary summary = summarize_partition(relation, part);
        CHECK(summary.parts == std::ssize(used));
        CHECK(summary.smallest >= 1);
        int64_t cut = 0, largest = 0;
        for (size_t e = 0; e < list.src.size(); ++e)
          cut += assignment[uz(list.src[e])] != assignment[uz(list.dst[e])];
        for (const int32_t p : used)
          largest = std::max<int64_t>(largest, std::count(assignment.begin(), assignment.end(), p));
        CHECK(summary.cut == cut);
        CHECK(summary.largest == largest);
        CHECK(summary.balance == doctest::Approx(static_cast<double>(largest * summary.parts) /
                                                 static_cast<double>(list.nodes)));
        // METIS keeps to about 3 % unless parts are small.
        if (list.src.empty()) CHECK(summary.largest - summary.smallest <= 1);
        if (parts <= 3 && list.nodes >= 100) CHECK(summary.balance <= 1.06);
      }
}

TEST_CASE("cliques are found exactly, and planted blocks nearly") {
  const Relation cliques = relation_of(ring_of_cliques(8, 12));
  const Tensor part = metis_partition(cliques, 8);
  const auto assignment = part.to_vector<int32_t>();
  for (size_t i = 0; i < assignment.size(); ++i) CHECK(assignment[i] == assignment[i / 12 * 12]);
  const PartitionSummary summary = summarize_partition(cliques, part);
  CHECK(summary.cut == 2 * 8);
  CHECK(summary.balance == 1.0);

  const PlantedPartition planted = planted_partition(2000, 8, 20.0, 0.9, 5);
  const Relation relation = relation_of(planted.edges);
  const int64_t its_own = summarize_partition(relation, Tensor::from(planted.block)).cut;
  const PartitionSummary found = summarize_partition(relation, metis_partition(relation, 8));
  CHECK(found.cut <= 1.05 * static_cast<double>(its_own));
  CHECK(found.cut >= 0.5 * static_cast<double>(its_own));
  CHECK(found.balance <= 1.05);

  const Relation three = relation_of(ring_of_cliques(1, 3));
  const PartitionSummary far =
      summarize_partition(three, Tensor::from(std::vector<int32_t>{0, 2'147'483'647, 0}));
  CHECK(far.parts == int64_t{1} << 31);
  CHECK(far.smallest == 0);
  CHECK(far.largest == 2);
}

TEST_CASE("partitions ignore loops and directions, and count parallel edges") {
  const EdgeList cliques = ring_of_cliques(4, 10);
  const Tensor plain = metis_partition(relation_of(cliques), 4);
  EdgeList one_way{cliques.nodes, {}, {}}, looped = cliques;
  for (size_t e = 0; e < cliques.src.size(); e += 2) {
    one_way.src.push_back(cliques.src[e]);
    one_way.dst.push_back(cliques.dst[e]);
  }
  for (int32_t i = 0; i < 40; ++i) {
    looped.src.insert(looped.src.end(), uz(i), i);
    looped.dst.insert(looped.dst.end(), uz(i), i);
  }
  CHECK(same_bits(metis_partition(relation_of(one_way), 4), plain));
  CHECK(same_bits(metis_partition(relation_of(looped), 4), plain));
  // A ring whose every second pair is joined by many edges.
  EdgeList ring{40, {}, {}};
  for (int32_t i = 0; i < 40; ++i)
    for (int32_t k = 0; k < (i % 2 == 0 ? 9 : 1); ++k) {
      ring.src.push_back(i);
      ring.dst.push_back((i + 1) % 40);
    }
  const auto assignment = metis_partition(relation_of(ring), 4).to_vector<int32_t>();
  for (size_t i = 0; i < assignment.size(); i += 2) CHECK(assignment[i] == assignment[i + 1]);
}

TEST_CASE("a partition depends on the seed, not on threads or the form of the relation") {
  const EdgeList list = power_law_graph(3000, 20000, {.skewed_sources = true}, 3);
  const Relation relation = relation_of(list);
  const Tensor part = metis_partition(relation, 16, {.seed = 7});
  CHECK_FALSE(same_bits(metis_partition(relation, 16, {.seed = 8}), part));
  for (int count : {1, 2, 5}) {
    const Threads threads(count);
    CHECK(same_bits(metis_partition(relation_of(list), 16, {.seed = 7}), part));
  }
  CHECK(same_bits(metis_partition(Relation::from_transposed(relation.transposed()), 16, {.seed = 7}), part));
  CHECK(same_bits(metis_partition(relation.reversed(), 16, {.seed = 7}), part));
  // METIS draws from a generator that the whole process shares.
  std::vector<Tensor> results(6);
  {
    std::vector<std::jthread> threads;
    for (size_t k = 0; k < results.size(); ++k)
      threads.emplace_back([&, k] { results[k] = metis_partition(relation, 16, {.seed = 7 + k % 2}); });
  }
  for (size_t k = 0; k < results.size(); k += 2) CHECK(same_bits(results[k], part));
  CHECK(same_bits(results[1], results[5]));
}

TEST_CASE("bad relations, parts and options are refused") {
  const Relation relation = relation_of(star_graph(5, false));
  const Tensor two = ints({0, 1});
  CHECK_ERROR(metis_partition(relation, 0), "metis_partition: expected 1 to 2147483647 parts, got 0");
  CHECK_ERROR(metis_partition(relation, int64_t{1} << 31),
              "metis_partition: expected 1 to 2147483647 parts, got 2147483648");
  CHECK_THROWS_AS(metis_partition(relation, 2, {.imbalance = -1.0}), Error);
  CHECK_THROWS_AS(metis_partition(relation, 2, {.imbalance = std::nan("")}), Error);
  CHECK_THROWS_AS(metis_partition(relation, 2, {.seed = uint64_t{1} << 31}), Error);
  CHECK_THROWS_AS(metis_partition(Relation(), 2), Error);
  CHECK_ERROR(metis_partition(Relation::from_coo(3, 4, two, two), 2),
              "metis_partition: a relation of 3 sources to 4 targets, expected one set of nodes");
  CHECK_THROWS_AS(summarize_partition(relation, two), Error);
  CHECK_THROWS_AS(summarize_partition(relation, Tensor()), Error);
  CHECK_THROWS_AS(summarize_partition(relation, Tensor::zeros({6})), Error);
  CHECK_ERROR(summarize_partition(relation, ints({0, 1, 0, -1, 0, 0})),
              "summarize_partition: part[3] is -1, expected 0 or more");
}
