#include "../captures.h"
#include "../support.h"
#include <adjoint/graph/generate/generators.h>
#include <adjoint/graph/graph.h>
#include <adjoint/graph/sparse_kernels.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

#include <algorithm>
#include <cmath>
#include <thread>

using namespace adj;
using namespace adj::test;

namespace {

/// Row-major [rows, cols] of what a kernel sees.
std::vector<double> dense_of(const CsrMatrix& a) {
  std::vector<double> dense(static_cast<size_t>(a.csr.rows * a.csr.cols), 0.0);
  const auto offsets = a.csr.offsets.to_vector<int64_t>();
  const auto columns = a.csr.indices.to_vector<int32_t>();
  const std::vector<double> weights = a.values ? values(a.values) : std::vector<double>();
  const auto order = a.order ? a.order.to_vector<int32_t>() : std::vector<int32_t>();
  for (int64_t i = 0; i < a.csr.rows; ++i)
    for (auto e = static_cast<size_t>(offsets[static_cast<size_t>(i)]);
         e < static_cast<size_t>(offsets[static_cast<size_t>(i) + 1]); ++e)
      dense[static_cast<size_t>(i * a.csr.cols + columns[e])] +=
          weights.empty() ? 1.0 : weights[order.empty() ? e : static_cast<size_t>(order[e])];
  return dense;
}

std::vector<double> turned(const std::vector<double>& dense, int64_t rows, int64_t cols) {
  std::vector<double> t(dense.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      t[static_cast<size_t>(j * rows + i)] = dense[static_cast<size_t>(i * cols + j)];
  return t;
}

SparseMatrix random_matrix(int64_t rows, int64_t cols, int most_per_row, bool weighted) {
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> indices;
  for (int64_t i = 0; i < rows; ++i) {
    const int32_t count = random_ints(1, 0, most_per_row + 1).to_vector<int32_t>()[0];
    auto row = cols > 0 ? random_ints(count, 0, static_cast<int32_t>(cols)).to_vector<int32_t>()
                        : std::vector<int32_t>();
    std::sort(row.begin(), row.end());
    indices.insert(indices.end(), row.begin(), row.end());
    offsets.push_back(static_cast<int64_t>(indices.size()));
  }
  std::vector<float> weights;
  if (weighted) weights = random_tensor({static_cast<int64_t>(indices.size())}).to_vector<float>();
  return SparseMatrix::from_csr(rows, cols, offsets, indices, weights);
}

}  // namespace

TEST_CASE("a sparse matrix and its adjoint hold the same numbers, kept or not") {
  for (Device device : devices())
    for (const auto& [rows, cols, most] :
         {std::tuple{7, 5, 4}, {1, 1, 1}, {4, 9, 0}, {33, 60, 12}, {0, 3, 2}})
      for (bool weighted : {false, true}) {
        CAPTURES(device.str(), rows);
        SparseMatrix a = random_matrix(rows, cols, most, weighted).to(device);
        const std::vector<double> dense = dense_of(a.matrix());
        CHECK(close(a.to_dense(), dense));
        CHECK(close(Tensor::from(turned(dense, rows, cols)), dense_of(a.adjoint())));
        a.keep_adjoint();
        CHECK(close(Tensor::from(turned(dense, rows, cols)), dense_of(a.adjoint())));
        if (weighted && a.entries() > 0) CHECK(!a.adjoint().order);
        if (!weighted || a.entries() == 0) continue;
        Tensor in_place = a.values();
        in_place.copy_(random_tensor({a.entries()}, DType::f32, device));
        a.keep_adjoint();  // again
        CHECK(close(Tensor::from(turned(dense_of(a.matrix()), rows, cols)), dense_of(a.adjoint())));
      }
}

TEST_CASE("the order of the transpose maps transposed entries to their originals, stably") {
  const SparseMatrix a = random_matrix(20, 6, 9, false);
  const auto offsets = a.relation().csr().offsets.to_vector<int64_t>();
  const auto columns = a.relation().csr().indices.to_vector<int32_t>();
  std::vector<std::pair<int32_t, int32_t>> cells;  // (column, row) by entry
  for (int32_t i = 0; i < 20; ++i)
    for (auto e = static_cast<size_t>(offsets[static_cast<size_t>(i)]);
         e < static_cast<size_t>(offsets[static_cast<size_t>(i) + 1]); ++e)
      cells.emplace_back(columns[e], i);
  std::vector<int32_t> expected(cells.size());
  for (size_t e = 0; e < expected.size(); ++e) expected[e] = static_cast<int32_t>(e);
  std::stable_sort(expected.begin(), expected.end(), [&](int32_t x, int32_t y) {
    return cells[static_cast<size_t>(x)] < cells[static_cast<size_t>(y)];
  });
  CHECK(a.relation().transposed_order().to_vector<int32_t>() == expected);
}

TEST_CASE("a structure that equals its transpose is found and shares its arrays") {
  const SparseMatrix symmetric = SparseMatrix::from_csr(3, 3, {0, 2, 4, 6}, {1, 2, 0, 1, 0, 2}, {});
  CHECK(symmetric.relation().symmetric());
  CHECK(symmetric.relation().transposed().indices.shares_storage_with(symmetric.relation().csr().indices));
  CHECK(symmetric.relation().transposed().cache == symmetric.relation().csr().cache);
  // One edge the wrong way round, and one entry once here and twice there.
  CHECK(!SparseMatrix::from_csr(3, 3, {0, 2, 3, 4}, {1, 2, 2, 0}, {}).relation().symmetric());
  CHECK(!SparseMatrix::from_csr(2, 2, {0, 2, 3}, {1, 1, 0}, {}).relation().symmetric());
  CHECK(!SparseMatrix::from_csr(2, 3, {0, 1, 1}, {0}, {}).relation().symmetric());
  CHECK(SparseMatrix::from_csr(2, 2, {0, 0, 0}, {}, {}).relation().symmetric());
}

TEST_CASE("self-adjoint matrices serve both directions with one copy of the values") {
  SparseMatrix a = SparseMatrix::from_csr(2, 2, {0, 1, 2}, {1, 0}, {3.0f, 3.0f});
  a.keep_adjoint(true);
  CHECK(a.adjoint().values.shares_storage_with(a.values()));
  CHECK(dense_of(a.adjoint()) == std::vector<double>{0, 3, 3, 0});
}

TEST_CASE("rows divided by their sums; rows that sum to 0 stay") {
  for (Device device : devices()) {
    const SparseMatrix a =
        SparseMatrix::from_csr(4, 3, {0, 2, 2, 4, 5}, {0, 2, 0, 1, 1}, {1.0f, 3.0f, 2.0f, -2.0f, 5.0f})
            .to(device);
    const auto n = values(a.row_normalized().to_dense());
    CHECK(n[0] == doctest::Approx(0.25));
    CHECK(n[2] == doctest::Approx(0.75));
    CHECK(n[10] == doctest::Approx(1.0));
    for (size_t k : {3u, 4u, 5u, 6u, 7u, 8u}) CHECK(std::isfinite(n[k]));
    CHECK(close(a.with_values({}).row_normalized().to_dense(),
                std::vector<double>{0.5, 0, 0.5, 0, 0, 0, 0.5, 0.5, 0, 0, 1, 0}));
  }
}

TEST_CASE("inconsistent arrays are refused with what is wrong") {
  const auto refused = [](const char* why, auto&&... args) {
    CHECK_THROWS_WITH_AS(SparseMatrix::from_csr(args...), doctest::Contains(why), Error);
  };
  using I = std::vector<int64_t>;
  using J = std::vector<int32_t>;
  using V = std::vector<float>;
  refused("2 offsets, expected 3", 2, 2, I{0, 1}, J{0}, V{});
  refused("offsets run from 1", 1, 2, I{1, 1}, J{0}, V{});
  refused("offsets run from 0 to 2, expected 0 to 1", 1, 2, I{0, 2}, J{0}, V{});
  refused("offsets fall from 2 to 1 at row 1", 3, 3, I{0, 2, 1, 2}, J{0, 1}, V{});
  refused("offsets fall from 0 to 9 at row 0", 2, 3, I{0, 9, 2}, J{0, 1}, V{});
  refused("column 3 in row 0", 1, 3, I{0, 1}, J{3}, V{});
  refused("column -1 in row 0", 1, 3, I{0, 1}, J{-1}, V{});
  refused("columns 2, 1 of row 0", 1, 3, I{0, 2}, J{2, 1}, V{});
  refused("1 values, expected 2", 1, 3, I{0, 2}, J{1, 2}, V{1.0f});
  CHECK_THROWS_AS(random_matrix(3, 3, 2, true).with_values(Tensor::zeros({100})), Error);
}

TEST_CASE("many threads may ask for the transpose at once") {
  const SparseMatrix a = random_matrix(200, 100, 20, true);
  std::vector<const Csr*> seen(8);
  std::vector<std::thread> threads;
  for (const Csr*& slot : seen) threads.emplace_back([&a, &slot] { slot = &a.relation().transposed(); });
  for (std::thread& thread : threads) thread.join();
  for (const Csr* csr : seen) CHECK(csr == seen[0]);
}

TEST_CASE("values of GCN and of means are factors of rows and columns, until they are written to") {
  const EdgeList edges = erdos_renyi_graph(300, 9000, 5);
  const Graph graph = Graph::from_coo(300, Tensor::from(edges.src), Tensor::from(edges.dst));
  const auto tile_values_of = [](const SparseMatrix& a, bool adjoint) {
    const RowTiles tiles = kernels::make_row_tiles(adjoint ? a.adjoint().csr : a.matrix().csr, kHybridLeast);
    return a.tile_values(tiles, adjoint, DType::f32);
  };
  const auto value_of = [](const Tensor& factor, size_t i) { return factor ? values(factor)[i] : 1.0; };
  for (Device device : devices())
    for (const SparseMatrix& a : {graph.to(device).gcn_adjacency(), graph.to(device).gcn_adjacency(0.0f),
                                  graph.to(device).mean_adjacency()})
      for (bool adjoint : {false, true}) {
        CAPTURES(device.str(), adjoint);
        const kernels::TileValues factors = tile_values_of(a, adjoint);
        CHECK(!factors.tile);
        REQUIRE((factors.row_factor || factors.column_factor));
        const std::vector<double> dense = dense_of(adjoint ? a.adjoint() : a.matrix());
        for (size_t i = 0; i < 300; ++i)
          for (size_t j = 0; j < 300; ++j) {
            const double value = dense[i * 300 + j],
                         product = value_of(factors.row_factor, i) * value_of(factors.column_factor, j);
            if (value != 0.0 && std::abs(value - product) > 1e-6 * value)
              FAIL_CHECK(i, " ", j, ": ", value, ", ", product);
          }
        CHECK(tile_values_of(a.with_values(a.values().clone()), adjoint).tile);
      }
  // Loops of weight 2 are no product of degrees' roots.
  CHECK(tile_values_of(graph.gcn_adjacency(2.0f), false).tile);
  SparseMatrix changed = graph.mean_adjacency();
  Tensor shares = changed.values();
  shares.fill_(0.5);
  CHECK(tile_values_of(changed, false).tile);
  CHECK_THROWS_WITH_AS(changed.set_factors(Tensor::zeros({2}), {}),
                       "sparse matrix [300, 300]: row is [2] float32 on cpu, expected float32 [300] on cpu",
                       Error);
}
