#include "../structures.h"
#include "edges.h"
#include <adjoint/graph/order/orders.h>
#include <adjoint/graph/sparse_matrix.h>

#include <map>

using namespace adj;
using namespace adj::test;

namespace {

using Counts = std::vector<std::tuple<int64_t, int64_t, int64_t>>;

Counts reuse(const Csr& a, int64_t height, int64_t width, const std::vector<int64_t>& least) {
  Counts counts;
  for (const TileCount& c : window_reuse(a, height, width, least))
    counts.emplace_back(c.least, c.tiles, c.entries);
  return counts;
}

Counts naive(const Csr& a, int64_t height, int64_t width, const std::vector<int64_t>& least) {
  std::map<std::pair<int64_t, int64_t>, int64_t> entries;
  for (const auto& [column, row] : cells_of(Relation::from_csr(a).edge_index()))
    ++entries[{row / height, column / width}];
  Counts counts;
  for (int64_t count : least) {
    counts.emplace_back(count, 0, 0);
    for (const auto& [tile, n] : entries)
      if (n >= count) {
        ++std::get<1>(counts.back());
        std::get<2>(counts.back()) += n;
      }
  }
  return counts;
}

Csr in_edges(const EdgeList& list) { return graph_of(list).in_edges(); }

Csr matrix(int64_t rows, int64_t cols, const std::vector<int64_t>& offsets,
           const std::vector<int32_t>& columns) {
  return SparseMatrix::from_csr(rows, cols, offsets, columns, {}).matrix().csr;
}

/// Five entries per row, some of them parallel.
Csr random_matrix(int64_t rows, int64_t cols) {
  return structure_of(
             rows, cols,
             [&](size_t) { return random_ints(5, 0, static_cast<int32_t>(cols)).to_vector<int32_t>(); })
      .csr;
}

/// A window of two rows that share columns 1 and 4, a row of parallel entries, an empty row.
Csr small() { return matrix(5, 9, {0, 3, 5, 8, 8, 9}, {1, 4, 5, 1, 4, 7, 7, 7, 8}); }

}  // namespace

TEST_CASE("counts of row windows and square tiles equal those by hand") {
  CHECK(reuse(small(), 2, 1, {1, 2, 3}) == Counts{{1, 5, 9}, {2, 3, 7}, {3, 1, 3}});
  CHECK(reuse(small(), 2, 4, {1, 2, 3}) == Counts{{1, 4, 9}, {2, 3, 8}, {3, 2, 6}});
  CHECK(reuse(small(), 1, 1, {1, 2}) == Counts{{1, 7, 9}, {2, 1, 3}});
  CHECK(reuse(small(), 2147483647, 2147483647, {9, 10}) == Counts{{9, 1, 9}, {10, 0, 0}});
  CHECK(reuse(small(), 4, 4, {}).empty());
}

TEST_CASE("tile counts equal naive loops for any number of threads") {
  std::vector<Csr> matrices{small(),
                            matrix(0, 7, {0}, {}),
                            matrix(4, 0, {0, 0, 0, 0, 0}, {}),
                            matrix(1, 1, {0, 1}, {0}),
                            matrix(2, 300, {0, 2, 4}, {0, 299, 0, 299}),
                            matrix(300, 2, std::vector<int64_t>(301, 0), {}),
                            random_matrix(700, 37),
                            random_matrix(37, 900),
                            in_edges({50, {}, {}}),
                            in_edges({1, {0, 0, 0}, {0, 0, 0}}),
                            in_edges(star_graph(700, false)),
                            in_edges(star_graph(700, true)),
                            in_edges(thinned_grid(1000, 25, 1900, 1)),
                            in_edges(erdos_renyi_graph(333, 5000, 1)),
                            in_edges(rmat_graph(256, 9000, {}, 2)),
                            in_edges(power_law_graph(4000, 20000, {.skewed_sources = true}, 3)),
                            in_edges(community_graph(640, 30000, 64, 0.8, 4))};
  for (int threads : {1, 3}) {
    const Threads scope(threads);
    for (const Csr& a : matrices)
      for (const auto& [height, width] :
           {std::pair{1, 1}, {8, 1}, {16, 1}, {128, 1}, {64, 64}, {128, 128}, {3, 17}, {1000, 5}}) {
        CAPTURES(a.rows, a.cols, height, width);
        const std::vector<int64_t> least{1, 2, 3, 4, 8, 1024, 8};
        CHECK(reuse(a, height, width, least) == naive(a, height, width, least));
      }
  }
}

TEST_CASE("bad sizes, devices and structures are refused") {
  constexpr int64_t kHuge = int64_t{1} << 31;
  for (const auto& [height, width, least] :
       Counts{{0, 1, 1}, {-8, 1, 1}, {8, 0, 1}, {8, kHuge, 1}, {kHuge, 1, 1}, {8, 1, 0}, {8, 1, -1}}) {
    CAPTURES(height, width);
    CHECK_THROWS_AS(window_reuse(small(), height, width, {least}), Error);
  }
  for (Device device : devices())
    if (!device.is_cpu()) CHECK_THROWS_AS(window_reuse(small().to(device), 8, 1, {1}), Error);
  Csr wrong = small();
  wrong.rows = 4;
  CHECK_THROWS_AS(window_reuse(wrong, 8, 1, {1}), Error);
}
