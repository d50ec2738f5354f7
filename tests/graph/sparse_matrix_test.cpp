#include "../structures.h"
#include "edges.h"
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/plan/tile_cost.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

#include <cmath>
using namespace adj;
using namespace adj::test;

namespace {

SparseMatrix random_matrix(int64_t rows, int64_t cols, int most_per_row, bool weighted) {
  const HostCsr s = structure_of(rows, cols, [&](size_t) {
    const int32_t count = cols > 0 ? random_ints(1, 0, most_per_row + 1).to_vector<int32_t>()[0] : 0;
    return random_ints(count, 0, static_cast<int32_t>(cols)).to_vector<int32_t>();
  });
  std::vector<float> weights;
  if (weighted) weights = random_tensor({std::ssize(s.indices)}).to_vector<float>();
  return SparseMatrix::from_csr(rows, cols, s.offsets, s.indices, weights);
}

}  // namespace

TEST_CASE("a sparse matrix and its adjoint have the same values, kept or not") {
  for (Device device : devices())
    for (const auto& [rows, cols, most] :
         {std::tuple{7, 5, 4}, {1, 1, 1}, {4, 9, 0}, {33, 60, 12}, {0, 3, 2}})
      for (bool weighted : {false, true}) {
        CAPTURE(rows);
        SparseMatrix a = random_matrix(rows, cols, most, weighted).to(device);
        const auto check_adjoint = [&] {
          CHECK(close(Tensor::from(transposed(dense_of(a.matrix())).data), dense_of(a.adjoint()).data));
        };
        CHECK(close(a.to_dense(), dense_of(a.matrix()).data));
        check_adjoint();
        a.keep_adjoint();
        check_adjoint();
        if (weighted && a.entries() > 0) CHECK(!a.adjoint().order);
        if (!weighted || a.entries() == 0) continue;
        Tensor in_place = a.values();
        in_place.copy_(random_tensor({a.entries()}, DType::f32, device));
        a.keep_adjoint();  // again
        check_adjoint();
      }
}

TEST_CASE("a self-adjoint matrix keeps one copy of the values") {
  SparseMatrix a = SparseMatrix::from_csr(2, 2, {0, 1, 2}, {1, 0}, {3.0f, 3.0f});
  a.keep_adjoint(true);
  CHECK(a.adjoint().values.shares_storage_with(a.values()));
  CHECK(dense_of(a.adjoint()).data == std::vector<double>{0, 3, 3, 0});
}

TEST_CASE("row_normalized divides rows by their sums, except for sums of 0") {
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

TEST_CASE("columns may be in any order within a row, also repeated") {
  const SparseMatrix a =
      SparseMatrix::from_csr(3, 4, {0, 3, 3, 6}, {3, 0, 2, 1, 3, 1}, {1.0f, 2.0f, 4.0f, 8.0f, 16.0f, 32.0f});
  CHECK(values(a.to_dense()) == std::vector<double>{2, 0, 4, 1, 0, 0, 0, 0, 0, 40, 0, 16});
  CHECK(a.matrix().csr.indices.to_vector<int32_t>() == std::vector<int32_t>{0, 2, 3, 1, 1, 3});
  CHECK(a.values().to_vector<float>() == std::vector<float>{2, 4, 1, 8, 32, 16});
  CHECK(values(SparseMatrix::from_csr(1, 3, {0, 2}, {2, 1}, {}).to_dense()) == std::vector<double>{0, 1, 1});
}

TEST_CASE("inconsistent arrays are refused") {
  const auto refused = [](const char* why, auto&&... args) {
    CHECK_ERROR_HAS(SparseMatrix::from_csr(args...), why);
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
  refused("1 values, expected 2", 1, 3, I{0, 2}, J{1, 2}, V{1.0f});
  CHECK_THROWS_AS(random_matrix(3, 3, 2, true).with_values(Tensor::zeros({100})), Error);
}

TEST_CASE("GCN and mean values have factors by row and column until they are modified") {
  const Graph graph = graph_of(erdos_renyi_graph(300, 9000, 5));
  const auto tile_values_of = [](const SparseMatrix& a, bool adjoint) {
    const RowTiles tiles =
        kernels::make_row_tiles(adjoint ? a.adjoint().csr : a.matrix().csr, kernels::kHybridLeast);
    return a.tile_values(tiles, adjoint, DType::f32);
  };
  const auto value_of = [](const Tensor& factor, int64_t i) { return factor ? values(factor)[uz(i)] : 1.0; };
  for (Device device : devices())
    for (const SparseMatrix& a : {graph.to(device).gcn_adjacency(), graph.to(device).gcn_adjacency(0.0f),
                                  graph.to(device).mean_adjacency()})
      for (bool adjoint : {false, true}) {
        CAPTURE(adjoint);
        const kernels::TileValues factors = tile_values_of(a, adjoint);
        CHECK(!factors.tile);
        REQUIRE((factors.row_factor || factors.column_factor));
        const Dense dense = dense_of(adjoint ? a.adjoint() : a.matrix());
        for (int64_t i = 0; i < 300; ++i)
          for (int64_t j = 0; j < 300; ++j) {
            const double value = dense(i, j),
                         product = value_of(factors.row_factor, i) * value_of(factors.column_factor, j);
            if (value != 0.0 && std::abs(value - product) > 1e-6 * value)
              FAIL_CHECK(i, " ", j, ": ", value, ", ", product);
          }
        CHECK(tile_values_of(a.with_values(a.values().clone()), adjoint).tile);
      }
  // With loops of weight 2, values are not products of roots of degrees.
  CHECK(tile_values_of(graph.gcn_adjacency(2.0f), false).tile);
  SparseMatrix changed = graph.mean_adjacency();
  Tensor shares = changed.values();
  shares.fill_(0.5);
  CHECK(tile_values_of(changed, false).tile);
  CHECK_ERROR(changed.set_factors(Tensor::zeros({2}), {}),
              "sparse matrix [300, 300]: row is [2] float32 on cpu, expected float32 [300] on cpu");
}
