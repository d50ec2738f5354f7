#include "edges.h"
#include <adjoint/autograd/attention.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/compute_context.h>
#include <adjoint/kernels/tiles/tile_choice.h>
#include <adjoint/kernels/tiles/tile_spmm.h>
#include <adjoint/optim/captured_step.h>

#include <cmath>

using namespace adj;
using namespace adj::test;

namespace {

/// Communities of `size` nodes, with `degree` in-edges a node, nine in ten from its community. Directed,
/// weighted.
SparseMatrix communities(int64_t nodes, int64_t size, int64_t degree) {
  const auto offsets = random_ints(nodes * degree, 0, static_cast<int32_t>(size)).to_vector<int32_t>(),
             outside = random_ints(nodes * degree, 0, static_cast<int32_t>(nodes)).to_vector<int32_t>();
  EdgeList list{nodes, {}, {}};
  for (int64_t e = 0; e < nodes * degree; ++e) {
    const auto edge = uz(e);
    const int64_t i = e / degree, neighbor = std::min(nodes - 1, i / size * size + offsets[edge]);
    list.dst.push_back(static_cast<int32_t>(i));
    list.src.push_back(e % degree % 10 == 0 ? outside[edge] : static_cast<int32_t>(neighbor));
  }
  const Relation relation = relation_of(list).sorted();
  return SparseMatrix(relation, random_tensor({relation.num_edges()}));
}

std::vector<Device> gpus_with_tiles() {
  std::vector<Device> all;
  for (Device device : devices())
    if (device.is_cuda() && kernels::has_tile_spmm(device)) all.push_back(device);
  return all;
}

double distance(const Tensor& a, const Tensor& b) {
  return std::sqrt(squared_error(a, b) / squared_error(b, Tensor::zeros_like(b)));
}

/// Return value of `results` with rows of CSR and exact products.
template <class F>
auto by_rows(F&& results) {
  const ComputeScope scope(
      {.matmul_precision = MatmulPrecision::exact, .sparse_kernels = SparseKernels::csr});
  return results();
}

/// Compared with by_rows: close, not equal, and the same bits twice. Returns the results.
template <class F>
std::vector<Tensor> compare_with_rows(SparseKernels kernels, double tolerance, F&& results) {
  const std::vector<Tensor> expected = by_rows(results);
  const ComputeScope scope({.matmul_precision = MatmulPrecision::tf32, .sparse_kernels = kernels});
  const std::vector<Tensor> got = results(), again = results();
  REQUIRE(got.size() == expected.size());
  CHECK(distance(got[0], expected[0]) > 0.0);
  for (size_t k = 0; k < got.size(); ++k) {
    CAPTURE(k);
    CHECK(distance(got[k], expected[k]) <= tolerance);
    CHECK(same_bits(got[k], again[k]));
  }
  return got;
}

constexpr DType kDTypes[] = {DType::f32, DType::bf16};
constexpr kernels::DeviceRates kH100{261.4, 99.0, 3352.0}, kH200{261.4, 118.8, 4917.0};

}  // namespace

TEST_CASE("the rules take tiles for dense communities, and rows of CSR without shared columns") {
  const auto counts_of = [](const SparseMatrix& a) {
    const Csr& csr = a.matrix().csr;
    return kernels::CutCounts(csr, kernels::make_row_tiles(csr, kernels::kHybridLeast));
  };
  const kernels::CutCounts dense = counts_of(communities(8192, 512, 400)),
                           sparse = counts_of(communities(4096, 4096, 10));
  for (const auto& gpu : {kH100, kH200})
    for (DType dtype : kDTypes) {
      const auto cost = [&](const kernels::CutCounts& counts, int64_t width) {
        return kernels::tile_cost(counts, gpu, width, dtype, kernels::TiledOp::kept_weights);
      };
      CHECK(cost(dense, 512).tiles());
      CHECK_FALSE(cost(dense, 1).tiles());
      CHECK_FALSE(cost(sparse, 512).tiles());
      CHECK(kernels::attention_tile_cost(dense, gpu, 4, 128, 2, dtype).tiles());
      for (int64_t rows : {1, 2})
        CHECK_FALSE(kernels::attention_tile_cost(sparse, gpu, 4, 128, rows, dtype).tiles());
    }
}

TEST_CASE("the rule takes the faster kernels where measured times differ by more than 5 %") {
  // Time by rows of CSR over time with tensor cores, of `bench` with --least 2: by kernels::TiledOp, then dot
  // attention and GAT, forward and backward; 0: not measured. On an H200 by bench/results/tiles.csv.
  struct Measured {
    kernels::DeviceRates gpu;
    std::array<int64_t, 4> graph;  // rows, entries, tiles, rest
    DType dtype;
    int64_t heads, width;
    std::array<double, 7> ratios;
  };
  constexpr std::array<int64_t, 4> kHm{46'563, 21'725'232, 20'005, 3'454'312},
      kTolokers{11'758, 1'038'000, 3'324, 200'334}, kRabbit{11'758, 1'038'000, 2'094, 96'534},
      kTwitch{168'114, 13'595'114, 20'683, 9'788'482};
  const Measured all[] = {
      {kH100, kHm, DType::f32, 1, 16, {0.94, 0.66, 0.23, 0.70, 0.44, 0.98, 0.93}},
      {kH100, kHm, DType::f32, 4, 7, {0, 0, 0, 0, 0, 1.13, 1.22}},
      {kH100, kHm, DType::f32, 4, 10, {1.97, 1.26, 0.44, 1.11, 0.54, 4.35, 4.72}},
      {kH100, kHm, DType::f32, 1, 64, {0, 0, 0, 0, 0, 2.47, 2.16}},
      {kH100, kHm, DType::f32, 4, 16, {1.75, 1.19, 0.43, 1.07, 0.53, 1.04, 0.89}},
      {kH100, kHm, DType::f32, 8, 8, {0, 0, 0, 0, 0, 0.61, 0.56}},
      {kH100, kHm, DType::f32, 1, 128, {2.27, 1.83, 0.70, 1.58, 0.80, 2.88, 2.64}},
      {kH100, kHm, DType::f32, 4, 32, {0, 0, 0, 0, 0, 1.63, 1.40}},
      {kH100, kHm, DType::f32, 4, 64, {2.53, 2.14, 1.09, 3.37, 1.68, 2.39, 2.23}},
      {kH100, kHm, DType::f32, 4, 128, {2.46, 2.02, 1.36, 2.14, 1.17, 2.78, 2.86}},
      {kH100, kHm, DType::bf16, 1, 16, {1.10, 0.71, 0.28, 0.78, 0.42, 1.20, 1.12}},
      {kH100, kHm, DType::bf16, 4, 7, {0, 0, 0, 0, 0, 1.30, 1.30}},
      {kH100, kHm, DType::bf16, 4, 10, {2.01, 1.25, 0.50, 0.86, 0.52, 5.12, 4.96}},
      {kH100, kHm, DType::bf16, 1, 64, {0, 0, 0, 0, 0, 2.08, 1.92}},
      {kH100, kHm, DType::bf16, 4, 16, {1.93, 1.24, 0.49, 0.88, 0.53, 0.95, 0.87}},
      {kH100, kHm, DType::bf16, 8, 8, {0, 0, 0, 0, 0, 0.91, 0.79}},
      {kH100, kHm, DType::bf16, 1, 128, {2.30, 1.81, 0.74, 1.35, 0.85, 2.55, 2.33}},
      {kH100, kHm, DType::bf16, 4, 32, {0, 0, 0, 0, 0, 1.41, 1.15}},
      {kH100, kHm, DType::bf16, 4, 64, {2.18, 1.79, 0.94, 1.81, 0.94, 1.90, 1.74}},
      {kH100, kHm, DType::bf16, 4, 128, {2.16, 1.77, 1.23, 2.53, 1.26, 2.28, 2.29}},
      {kH100, kTolokers, DType::f32, 4, 10, {0.61, 0.52, 0.33, 0.41, 0.28, 1.33, 1.53}},
      {kH100, kTolokers, DType::f32, 4, 16, {0.65, 0.56, 0.36, 0.41, 0.27, 0.44, 0.42}},
      {kH100, kTolokers, DType::f32, 1, 128, {0.94, 0.87, 0.59, 0.60, 0.37, 1.00, 0.97}},
      {kH100, kTolokers, DType::f32, 4, 64, {1.22, 1.10, 0.84, 1.07, 0.70, 1.05, 0.90}},
      {kH100, kTolokers, DType::f32, 4, 128, {0, 0, 0, 0, 0, 1.25, 1.16}},
      {kH100, kTolokers, DType::f32, 8, 64, {1.38, 1.24, 1.05, 1.06, 0.55, 1.07, 0.92}},
      {kH100, kTolokers, DType::bf16, 4, 10, {0.73, 0.65, 0.42, 0.49, 0.32, 1.67, 1.71}},
      {kH100, kTolokers, DType::bf16, 4, 16, {0.72, 0.65, 0.42, 0.48, 0.31, 0.50, 0.49}},
      {kH100, kTolokers, DType::bf16, 1, 128, {0.79, 0.77, 0.51, 0.64, 0.41, 1.05, 1.11}},
      {kH100, kTolokers, DType::bf16, 4, 64, {1.00, 0.94, 0.69, 0.85, 0.49, 0.90, 0.82}},
      {kH100, kTolokers, DType::bf16, 4, 128, {0, 0, 0, 0, 0, 0.97, 1.03}},
      {kH100, kTolokers, DType::bf16, 8, 64, {1.08, 0.98, 0.82, 1.12, 0.66, 0.86, 0.77}},
      {kH100, kRabbit, DType::f32, 4, 32, {0.90, 0.87, 0.54, 0.65, 0.39, 0.79, 0.74}},
      {kH100, kRabbit, DType::f32, 2, 128, {1.13, 1.09, 0.77, 1.19, 0.75, 1.23, 1.25}},
      {kH100, kRabbit, DType::f32, 4, 128, {1.34, 1.24, 0.99, 1.14, 0.59, 1.33, 1.33}},
      {kH100, kRabbit, DType::bf16, 4, 32, {0.86, 0.89, 0.53, 0.78, 0.43, 0.80, 0.76}},
      {kH100, kRabbit, DType::bf16, 2, 128, {1.10, 1.09, 0.72, 1.07, 0.54, 1.20, 1.30}},
      {kH100, kRabbit, DType::bf16, 4, 128, {1.17, 1.13, 0.88, 1.39, 0.74, 1.13, 1.26}},
      {kH100, kTwitch, DType::f32, 4, 32, {1.10, 0.92, 0.72, 0.91, 0.70, 1.08, 0.80}},
      {kH100, kTwitch, DType::bf16, 4, 32, {0.67, 0.58, 0.46, 0.69, 0.58, 0.70, 0.65}},
      {kH200, kHm, DType::f32, 1, 128, {2.11, 1.76, 0, 1.70, 0.91, 0, 0}},
      {kH200, kHm, DType::f32, 1, 512, {2.61, 2.10, 0, 2.20, 1.23, 0, 0}},
      {kH200, kHm, DType::f32, 4, 128, {0, 0, 0, 0, 0, 2.95, 2.95}},
      {kH200, kHm, DType::bf16, 1, 128, {2.18, 1.77, 0, 1.49, 0.95, 0, 0}},
      {kH200, kHm, DType::bf16, 1, 512, {2.15, 1.71, 0, 2.75, 1.43, 0, 0}},
      {kH200, kHm, DType::bf16, 4, 128, {0, 0, 0, 0, 0, 2.39, 2.34}},
      {kH200, kTolokers, DType::f32, 1, 128, {0.80, 0.78, 0, 0.57, 0.37, 0, 0}},
      {kH200, kTolokers, DType::f32, 1, 512, {1.24, 1.14, 0, 0.97, 0.56, 0, 0}},
      {kH200, kTolokers, DType::f32, 4, 128, {0, 0, 0, 0, 0, 1.16, 1.17}},
      {kH200, kTolokers, DType::bf16, 1, 128, {0, 0, 0, 0.67, 0.46, 0, 0}},
      {kH200, kTolokers, DType::bf16, 1, 512, {1.00, 0.91, 0, 1.28, 0.72, 0, 0}},
      {kH200, kTolokers, DType::bf16, 4, 128, {0, 0, 0, 0, 0, 0.95, 1.03}},
      {kH200, kRabbit, DType::f32, 1, 512, {1.24, 1.15, 0, 0, 0, 0, 0}},
      {kH200, kRabbit, DType::bf16, 1, 512, {1.14, 1.08, 0, 0, 0, 0, 0}},
  };
  for (const Measured& m : all) {
    CAPTURES(m.graph[2], name_of(m.dtype), m.heads, m.width);
    kernels::CutCounts counts;
    counts.rows = counts.cols = m.graph[0];
    counts.entries = m.graph[1];
    counts.tiles = m.graph[2];
    counts.rest = m.graph[3];
    for (size_t k = 0; k < m.ratios.size(); ++k) {
      if (m.ratios[k] == 0.0) continue;
      const kernels::TileCost cost =
          k < 5 ? kernels::tile_cost(counts, m.gpu, m.heads * m.width, m.dtype,
                                     static_cast<kernels::TiledOp>(k))
                : kernels::attention_tile_cost(counts, m.gpu, m.heads, m.width, k == 5 ? 2 : 1, m.dtype);
      CAPTURES(k, cost.csr, cost.hybrid);
      CHECK((cost.tiles() ? 1.0 / m.ratios[k] : m.ratios[k]) <= 1.05);
    }
  }
}

TEST_CASE("CPUs and float64 use CSR rows with every setting") {
  const SparseMatrix a = communities(300, 100, 20);
  for (SparseKernels kernels :
       {SparseKernels::automatic, SparseKernels::csr, SparseKernels::tiles, SparseKernels::hybrid}) {
    const ComputeScope scope({.matmul_precision = MatmulPrecision::tf32, .sparse_kernels = kernels});
    CHECK(kernels::choose_tiles("aggregate", a.matrix().csr, 64, DType::f32,
                                kernels::TiledOp::kept_weights) == nullptr);
    CHECK(kernels::choose_tiles("aggregate", a.matrix().csr, 64, DType::f64,
                                kernels::TiledOp::kept_weights) == nullptr);
  }
}

TEST_CASE("a matrix caches its values in tile order until they are modified") {
  for (Device device : devices()) {
    SparseMatrix a = communities(300, 100, 20).to(device);
    const auto tiles = kernels::row_tiles(a.matrix().csr, 2);
    const kernels::TileValues first = a.tile_values(*tiles, false, DType::f32);
    CHECK(first.tile.raw_data() == a.tile_values(*tiles, false, DType::f32).tile.raw_data());
    CHECK(first.tile.raw_data() != a.tile_values(*tiles, false, DType::bf16).tile.raw_data());
    Tensor written = a.values();
    written.copy_(random_tensor(written.shape(), written.dtype(), device));
    const kernels::TileValues second = a.tile_values(*tiles, false, DType::f32);
    CHECK(first.tile.raw_data() != second.tile.raw_data());
    CHECK(values(first.rest) != values(second.rest));
    CHECK_FALSE(SparseMatrix(a.relation()).tile_values(*tiles, false, DType::f32).tile);
  }
}

TEST_CASE("products and gradients with tensor cores equal those with rows of CSR, for directed graphs too") {
  const SparseMatrix host = communities(1000, 250, 60);
  for (Device device : gpus_with_tiles())
    for (DType dtype : kDTypes)
      for (SparseKernels kernels : {SparseKernels::tiles, SparseKernels::hybrid}) {
        CAPTURE(name_of(dtype));
        const SparseMatrix a = host.to(device);
        const Tensor x = random_tensor({1000, 72}, dtype, device),
                     dy = random_tensor({1000, 72}, dtype, device);
        const auto results = [&] {
          const Var input = Var::parameter(x), y = aggregate(a, input);
          y.backward(dy);
          return std::vector<Tensor>{y.value(), input.grad()};
        };
        const auto got = compare_with_rows(kernels, dtype == DType::f32 ? 5e-4 : 1e-2, results);
        const ComputeScope scope({.matmul_precision = MatmulPrecision::tf32, .sparse_kernels = kernels});
        REQUIRE(kernels::choose_tiles("aggregate", a.matrix().csr, 72, dtype, kernels::TiledOp::kept_weights)
                    ->num_tiles() > 0);
        // Values computed in a captured step are put in tiles within the step.
        Tensor kept = Tensor::zeros({1000, 72}, dtype, device);
        optim::CapturedStep step([&] {
          const Var y = aggregate(a.with_values(a.values().clone()), Var(x));
          kept.copy_(y.value());
          return sum(y);
        });
        for (int i = 0; i < 3; ++i) (void)step();
        CHECK(same_bits(kept, got[0]));
      }
}

TEST_CASE("sums with edge weights and products by edge, with gradients, equal those with rows of CSR") {
  // An unsorted edge list, so that weights are found by number.
  const std::vector<Cell> cells = cells_of(communities(1000, 250, 60).relation().edge_index());
  REQUIRE(cells.size() % 7919 != 0);
  EdgeList list{1000, {}, {}};
  for (size_t e = 0; e < cells.size(); ++e) {
    list.src.push_back(cells[e * 7919 % cells.size()].first);
    list.dst.push_back(cells[e * 7919 % cells.size()].second);
  }
  const Relation host = relation_of(list);
  enum class Kind : uint8_t { sum, mean, dot, dot_by_head };
  for (Device device : gpus_with_tiles())
    for (DType dtype : kDTypes)
      for (Kind kind : {Kind::sum, Kind::mean, Kind::dot, Kind::dot_by_head}) {
        CAPTURES(name_of(dtype), static_cast<int>(kind));
        const Relation relation = host.to(device);
        const int64_t edges = relation.num_edges();
        const bool sums = kind == Kind::sum || kind == Kind::mean;
        const Tensor x = random_tensor({1000, 72}, dtype, device),
                     q = random_tensor({1000, 72}, dtype, device),
                     w = random_tensor({edges}, DType::f32, device);
        const Tensor dy =
            sums ? random_tensor({1000, 72}, dtype, device)
                 : random_tensor(kind == Kind::dot ? Shape{edges} : Shape{edges, 3}, DType::f32, device);
        const auto results = [&] {
          const Var a = Var::parameter(x.clone()), b = Var::parameter(sums ? w.clone() : q.clone());
          const Var y =
              sums ? aggregate(relation, a,
                               {.reduce = kind == Kind::sum ? Reduce::sum : Reduce::mean, .weight = b})
                   : edge_dot(relation, b, a, kind == Kind::dot ? 0 : 3);
          y.backward(dy);
          return std::vector<Tensor>{y.value(), a.grad(), b.grad()};
        };
        const double tolerance = dtype == DType::f32 ? 5e-4 : 1e-2;
        if (kind == Kind::dot_by_head) {
          const std::vector<Tensor> expected = by_rows(results);
          const ComputeScope scope(
              {.matmul_precision = MatmulPrecision::tf32, .sparse_kernels = SparseKernels::hybrid});
          CHECK_ERROR(results(), "edge_dot: tensor-core kernels support no weights by head");
          const NoGrad no_grad;
          CHECK(distance(edge_dot(relation, Var(q), Var(x), 3).value(), expected[0]) <= tolerance);
          continue;
        }
        const std::vector<Tensor> got = compare_with_rows(SparseKernels::hybrid, tolerance, results);
        CHECK(distance(got[2], by_rows(results)[2]) > 0.0);
      }
}

TEST_CASE("attention and its gradients with tensor cores equal those with rows of CSR") {
  const Relation host = communities(1000, 250, 60).relation();
  enum class Kind : uint8_t { dot, gat, cosine };
  for (Device device : gpus_with_tiles())
    for (DType dtype : kDTypes)
      for (Kind kind : {Kind::dot, Kind::gat, Kind::cosine}) {
        CAPTURES(name_of(dtype), static_cast<int>(kind));
        const Relation relation = host.to(device);
        const int64_t heads = kind == Kind::cosine ? 1 : 3, width = 24;
        const Shape nodes{1000, heads, width}, head{heads, width};
        const bool cosine = kind == Kind::cosine;
        const Shape x_shape = cosine ? Shape{1000, width} : nodes, last = kind == Kind::gat ? head : nodes;
        const std::vector<Tensor> features{random_tensor(x_shape, dtype, device),
                                           random_tensor(cosine ? Shape{1} : last, dtype, device),
                                           random_tensor(last, dtype, device)};
        const Tensor dy = random_tensor(x_shape, dtype, device);
        const auto results = [&] {
          std::vector<Var> in;
          for (const Tensor& x : features) in.push_back(Var::parameter(x.clone()));
          const Var y = kind == Kind::dot   ? dot_attention(relation, in[0], in[1], in[2])
                        : kind == Kind::gat ? gat_attention(relation, in[0], in[1], in[2], 0.2f)
                                            : cosine_attention(relation, in[0], in[1]);
          y.backward(dy);
          std::vector<Tensor> all{y.value()};
          for (const Var& x : in)
            if (x.grad()) all.push_back(x.grad());
          return all;
        };
        for (SparseKernels kernels : {SparseKernels::tiles, SparseKernels::hybrid}) {
          (void)compare_with_rows(kernels, dtype == DType::f32 ? 5e-3 : 5e-2, results);
          if (kind == Kind::cosine) continue;
          const ComputeScope scope({.matmul_precision = MatmulPrecision::tf32, .sparse_kernels = kernels});
          AttentionOptions drops;
          drops.dropout = 0.5f;
          const Var x(random_tensor(nodes, dtype, device));
          CHECK_ERROR(dot_attention(relation, x, x, x, drops),
                      "dot_attention: tensor-core kernels support no attention dropout");
          CHECK_ERROR(gatv2_attention(relation, x, x, Var(random_tensor(head, dtype, device)), 0.2f),
                      "gatv2_attention: tensor-core kernels support no logits of GATv2");
        }
      }
}

TEST_CASE("devices without tensor cores and exact float32 refuse tiles") {
  const SparseMatrix host = communities(300, 100, 20);
  for (Device device : devices()) {
    if (device.is_cpu()) continue;
    const SparseMatrix a = host.to(device);
    const ComputeScope scope(
        {.matmul_precision = MatmulPrecision::exact, .sparse_kernels = SparseKernels::tiles});
    if (!kernels::has_tile_spmm(device)) {
      CHECK_THROWS_AS(
          kernels::choose_tiles("aggregate", a.matrix().csr, 64, DType::bf16, kernels::TiledOp::kept_weights),
          Error);
      continue;
    }
    CHECK_ERROR(aggregate(a, Var(random_tensor({300, 8}, DType::f32, device))),
                "aggregate: tensor cores round float32 features to 11 bits, which a precision of tf32 allows "
                "and exact float32 does not");
  }
}
