#include "edges.h"
#include <adjoint/core/allocator.h>
#include <adjoint/graph/block.h>
#include <adjoint/graph/relation.h>
#include <adjoint/graph/self_loops.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <thread>
#include <tuple>

using namespace adj;
using namespace adj::test;

namespace {

struct List {
  int64_t num_src, num_dst;
  std::vector<int32_t> src, dst;
};

/// Some equal edges, one target with many edges, one without.
List random_list(int32_t num_src, int32_t num_dst, int64_t edges) {
  List list{num_src, num_dst, random_ints(edges, 0, std::max(num_src, 1)).to_vector<int32_t>(),
            random_ints(edges, 0, std::max(num_dst - 1, 1)).to_vector<int32_t>()};
  for (size_t e = 0; e < list.dst.size(); e += 3) list.dst[e] = num_dst / 2;
  for (size_t e = 1; e < list.src.size(); e += 7) {
    list.src[e] = list.src[e - 1];
    list.dst[e] = list.dst[e - 1];
  }
  return list;
}

Relation relation_of(const List& list, Device device) {
  return Relation::from_coo(list.num_src, list.num_dst, ints(list.src, device), ints(list.dst, device));
}

/// The edges' numbers by (rows, columns), equal ones in order.
std::vector<int32_t> sorted_numbers(const std::vector<int32_t>& rows, const std::vector<int32_t>& cols) {
  std::vector<int32_t> number = numbers(std::ssize(rows));
  std::stable_sort(number.begin(), number.end(), [&](int32_t a, int32_t b) {
    const auto x = uz(a), y = uz(b);
    return std::pair(rows[x], cols[x]) < std::pair(rows[y], cols[y]);
  });
  return number;
}

/// A compressed form has these edges, entry k being edge order[k].
void check_form(const Csr& csr, const Tensor& order, int64_t rows, int64_t cols,
                const std::vector<int32_t>& row, const std::vector<int32_t>& col) {
  REQUIRE(csr.rows == rows);
  REQUIRE(csr.cols == cols);
  const std::vector<int32_t> number = sorted_numbers(row, col);
  std::vector<int64_t> offsets(uz(rows) + 1, 0);
  std::vector<int32_t> columns;
  for (int32_t i : row) ++offsets[uz(i) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  for (int32_t e : number) columns.push_back(col[uz(e)]);
  CHECK(csr.offsets.to_vector<int64_t>() == offsets);
  CHECK(csr.indices.to_vector<int32_t>() == columns);
  if (order) {
    CHECK(order.to_vector<int32_t>() == number);
  } else {
    CHECK(std::is_sorted(number.begin(), number.end()));
  }
}

void check_relation(const Relation& relation, const List& list) {
  REQUIRE(relation.num_src() == list.num_src);
  REQUIRE(relation.num_dst() == list.num_dst);
  REQUIRE(relation.num_edges() == static_cast<int64_t>(list.src.size()));
  const EdgeIndex edges = relation.edge_index();
  CHECK(edges.src.to_vector<int32_t>() == list.src);
  CHECK(edges.dst.to_vector<int32_t>() == list.dst);
  check_form(relation.csr(), relation.csr_order(), list.num_dst, list.num_src, list.dst, list.src);
  check_form(relation.transposed(), relation.transposed_order(), list.num_src, list.num_dst, list.src,
             list.dst);
  std::vector<double> in(uz(list.num_dst), 0.0), out(uz(list.num_src), 0.0);
  for (size_t e = 0; e < list.src.size(); ++e) {
    in[uz(list.dst[e])] += 1.0;
    out[uz(list.src[e])] += 1.0;
  }
  CHECK(values(relation.in_degrees()) == in);
  CHECK(values(relation.out_degrees()) == out);
}

/// And every edge reversed.
List both_ways(List list) {
  const List once = list;
  list.src.insert(list.src.end(), once.dst.begin(), once.dst.end());
  list.dst.insert(list.dst.end(), once.src.begin(), once.src.end());
  return list;
}

List turned(const List& list) { return {list.num_dst, list.num_src, list.dst, list.src}; }

/// The list in the order of the CSR.
List in_order(const List& list) {
  List sorted{list.num_src, list.num_dst, {}, {}};
  for (int32_t e : sorted_numbers(list.dst, list.src)) {
    sorted.src.push_back(list.src[uz(e)]);
    sorted.dst.push_back(list.dst[uz(e)]);
  }
  return sorted;
}

const std::tuple<int32_t, int32_t, int64_t> kSizes[] = {{1, 1, 0},   {1, 1, 3},   {7, 3, 0},      {0, 5, 0},
                                                        {3, 40, 61}, {40, 3, 61}, {130, 97, 1999}};

}  // namespace

// Only carriable entries of a KeyedCache go to another device. carried_to() is private in these types.
static_assert(detail::Carriable<Csr> && detail::Carriable<Relation> && detail::Carriable<LoopedRelation> &&
              detail::Carriable<SparseMatrix> && detail::Carriable<Graph> && detail::Carriable<Block>);

TEST_CASE("a relation from a list has every form of the same edges, on every device") {
  for (Device device : devices())
    for (const auto& [num_src, num_dst, edges] : kSizes) {
      CAPTURE(edges);
      const List list = random_list(num_src, num_dst, edges);
      const Relation direct = relation_of(list, device), host = relation_of(list, {});
      CHECK(host.to(device).device() == device);
      for (const Relation& relation : {direct, host.to(device)}) check_relation(relation, list);
      for (const Relation& relation : {direct.reversed(), host.reversed().to(device)})
        check_relation(relation, turned(list));
      for (const Relation& relation : {direct.sorted(), host.sorted().to(device)})
        check_relation(relation, in_order(list));
      // From a CSR or its transpose, edges are numbered in that order.
      const Relation by_target = Relation::from_csr(direct.csr());
      check_relation(by_target, in_order(list));
      CHECK(!by_target.csr_order());
      CHECK(by_target.sorted() == by_target);
      check_relation(by_target.reversed(), turned(in_order(list)));
      check_relation(by_target.reversed().sorted(), in_order(turned(in_order(list))));
      const Relation by_source = Relation::from_transposed(direct.transposed());
      check_relation(by_source, turned(in_order(turned(list))));
      CHECK(!by_source.transposed_order());
    }
}

TEST_CASE("a reversed relation shares the forms of the original") {
  const Relation relation = relation_of(random_list(9, 12, 50), {});
  const Relation turned = relation.reversed();
  CHECK(turned != relation);
  CHECK(turned.reversed() == relation);
  CHECK(&turned.csr() == &relation.transposed());
  CHECK(&turned.transposed() == &relation.csr());
  CHECK(turned.edge_index().src.shares_storage_with(relation.edge_index().dst));
  CHECK(&turned.cache() != &relation.cache());
}

TEST_CASE("symmetry is found from any form, and a symmetric relation keeps one form") {
  for (Device device : devices()) {
    const List both{3, 3, {1, 0, 2, 0, 2, 2}, {0, 1, 0, 2, 2, 2}};
    for (const Relation& relation :
         {relation_of(both, device), Relation::from_csr(relation_of(both, device).csr())}) {
      CHECK(relation.symmetric());
      CHECK(relation.reversed().symmetric());
      CHECK(relation.transposed().cache == relation.csr().cache);
      CHECK(relation.transposed().indices.shares_storage_with(relation.csr().indices));
      check_relation(relation, relation.csr_order() ? both : in_order(both));
    }
    CHECK(!relation_of({3, 3, {1, 0}, {0, 2}}, device).symmetric());
    CHECK(!relation_of({3, 3, {1, 2, 2, 0}, {0, 0, 1, 2}}, device).symmetric());  // one edge reversed
    CHECK(!relation_of({2, 2, {1, 1, 0}, {0, 0, 1}}, device).symmetric());        // twice here and once there
    CHECK(!relation_of({3, 4, {}, {}}, device).symmetric());
    CHECK(relation_of({3, 3, {}, {}}, device).symmetric());
  }
}

TEST_CASE("symmetric() equals a comparison with the transpose") {
  for (Device device : devices())
    for (int64_t edges : {0, 1, 4, 9, 30, 300})
      for (int trial = 0; trial < 20; ++trial) {
        List list = random_list(7, 7, edges);
        if (trial % 2 == 0) list = both_ways(list);
        if (trial % 4 == 0 && !list.src.empty()) list.src[0] = (list.src[0] + 1) % 7;  // except one
        const List sorted = in_order(list), transposed = in_order(turned(list));
        const bool expected = sorted.src == transposed.src && sorted.dst == transposed.dst;
        CAPTURE(edges);
        CHECK(relation_of(list, device).symmetric() == expected);
        CHECK(relation_of(list, device).reversed().symmetric() == expected);
        CHECK(Relation::from_transposed(relation_of(list, device).csr()).symmetric() == expected);
        // Also after the transpose was computed, and the transpose after symmetry is known.
        const Relation other = relation_of(list, device);
        (void)other.transposed();
        CHECK(other.symmetric() == expected);
        const Relation asked = relation_of(list, device);
        (void)asked.symmetric();
        check_relation(asked, list);
      }
  // Equal in- and out-degrees.
  for (Device device : devices()) CHECK(!relation_of({3, 3, {0, 1, 2}, {1, 2, 0}}, device).symmetric());
}

TEST_CASE("on the host neither symmetry nor degrees compute the transposed form") {
  for (bool symmetric : {true, false}) {
    constexpr int64_t kNodes = 100;
    List list = random_list(kNodes, kNodes, 50'000);
    if (symmetric) list = both_ways(list);
    const Relation relation = Relation::from_csr(relation_of(list, {}).csr());
    reset_peak_memory(Device::cpu());
    const size_t before = memory_stats(Device::cpu()).current;
    CHECK(relation.symmetric() == symmetric);
    (void)relation.out_degrees();
    (void)relation.in_degrees();
    CHECK(memory_stats(Device::cpu()).peak - before < 16 * kNodes);
  }
}

TEST_CASE("matrix and adjoint use edge values by edge number") {
  for (Device device : devices()) {
    const List list = random_list(15, 11, 80);
    const Relation relation = relation_of(list, device);
    const Tensor weight = random_tensor({80}, DType::f32, device);
    const std::vector<double> w = values(weight);
    Dense a(11, 15);
    for (size_t e = 0; e < w.size(); ++e) a(list.dst[e], list.src[e]) += w[e];
    CHECK(dense_of(relation.matrix(weight)).data == a.data);
    CHECK(dense_of(relation.adjoint(weight)).data == transposed(a).data);
  }
}

TEST_CASE("threads may compute different forms at once") {
  const List list = random_list(500, 400, 20000);
  for (int round = 0; round < 10; ++round) {
    const Relation relation = relation_of(list, {});
    std::vector<const void*> seen(12);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < seen.size(); ++t)
      threads.emplace_back([&relation, &slot = seen[t], t] {
        const Relation mine = t % 2 == 0 ? relation : relation.reversed();
        const std::function<const Tensor&()> forms[] = {
            [&]() -> const Tensor& { return mine.csr().indices; },
            [&]() -> const Tensor& { return mine.transposed().indices; },
            [&]() -> const Tensor& { return mine.transposed_order(); },
            [&]() -> const Tensor& { return mine.csr_order(); },
            [&]() -> const Tensor& { return mine.in_degrees(); },
            [&]() -> const Tensor& { return mine.out_degrees(); }};
        slot = forms[t % 6]().raw_data();
      });
    for (std::thread& thread : threads) thread.join();
    for (size_t t = 0; t < 6; t += 2) {
      CHECK(seen[t] == seen[t + 1]);
      CHECK(seen[t] == seen[t + 6]);
    }
    if (round == 0) check_relation(relation, list);
  }
}

TEST_CASE("edges out of range and mismatched forms are refused") {
  const auto refused = [](const char* why, int64_t num_src, int64_t num_dst, const std::vector<int64_t>& src,
                          const std::vector<int64_t>& dst) {
    for (Device device : devices())
      CHECK_ERROR_HAS(Relation::from_coo(num_src, num_dst, longs(src, device), longs(dst, device)), why);
  };
  refused("relation of 3 sources and 2 targets: src[1] is 3, expected 0 to 2", 3, 2, {2, 3}, {0, 1});
  refused("dst[2] is 2, expected 0 to 1", 3, 2, {0, 1, 2}, {0, 1, 2});
  refused("src[0] is -1", 3, 2, {-1}, {0});
  refused("2 sources but 1 targets", 3, 2, {0, 1}, {0});
  refused("2147483648 sources", int64_t{1} << 31, 2, {}, {});
  // Kernels look some entries and rows ahead in int32.
  refused("2147483600 targets, expected 0 to 2147418111", 2, 2147483600, {}, {});
  CHECK_ERROR_HAS(Relation::from_coo(2, 2, Tensor::zeros({1}), Tensor::zeros({1})),
                  "expected [M] int32 or int64");
  Csr csr{2, 3, Tensor::zeros({2}, DType::i64), Tensor::zeros({0}, DType::i32)};
  CHECK_ERROR_HAS(Relation::from_csr(csr), "expected [3] int64");
  csr.offsets = Tensor::zeros({3}, DType::i64);
  CHECK_ERROR_HAS(Relation::from_csr(csr, true), "only a square one");
}
