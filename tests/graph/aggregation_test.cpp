#include "edges.h"
#include <adjoint/core/explain.h>
#include <adjoint/kernels/compute_context.h>
#include <adjoint/kernels/plan/aggregation_cost.h>

#include <algorithm>

using namespace adj;
using namespace adj::test;

namespace {

struct Edges {
  Relation list(const kernels::ListUse& use = {}) const {
    return detail::list_for(use, nodes, nodes, src, dst);
  }
  Graph sorted(bool weighted = false) const {
    return Graph::from_coo(nodes, src, dst, weighted ? weight : Tensor());
  }
  int64_t nodes;
  Tensor src, dst, weight;
};

/// With loops, several of one node; parallel edges; a node with many edges and some without.
Edges random_edges(int64_t nodes, int64_t count, Device device) {
  auto src = random_ints(count, 0, static_cast<int32_t>(nodes)).to_vector<int32_t>();
  auto dst = random_ints(count, 0, static_cast<int32_t>(nodes - 3)).to_vector<int32_t>();
  std::vector<float> weight;
  for (size_t e = 0; e < src.size(); ++e) {
    if (e % 5 == 0) dst[e] = 2;
    if (e % 11 == 0) src[e] = dst[e];
    if (e % 7 == 1) src[e] = src[e - 1], dst[e] = dst[e - 1];
    weight.push_back(0.25f + static_cast<float>(e % 9));
  }
  return {nodes, ints(src, device), ints(dst, device), Tensor::from(weight, device)};
}

}  // namespace

TEST_CASE("the rule scatters few and narrow sums, by counts only") {
  for (Device device : {Device::cpu(), Device::cuda(0)}) {
    CAPTURE(device.str());
    const auto scatters = [&](int64_t edges, const kernels::ListUse& use) {
      return kernels::aggregation_cost(edges, edges, use, device).scatters();
    };
    CHECK(scatters(100000, {.sums = 2, .width = 1}));
    CHECK_FALSE(scatters(100000, {.sums = 1000, .width = 256}));
    CHECK_FALSE(scatters(100000, {}));  // no use known
    CHECK_FALSE(scatters(0, {.sums = 0, .width = 1}));
    const auto cost = [&](const kernels::ListUse& use) {
      return kernels::aggregation_cost(1000, 5000, use, device);
    };
    const kernels::AggregationCost once = cost({.sums = 4, .width = 16, .backward = false}),
                                   both = cost({.sums = 4, .width = 16}),
                                   wide = cost({.sums = 8, .width = 64});
    CHECK(both.sorting == doctest::Approx(2 * once.sorting));
    CHECK(both.scattering == once.scattering);
    CHECK(wide.scattering > both.scattering);
    CHECK(wide.sorting == both.sorting);
  }
}

TEST_CASE("only an edge list scatters, according to its use or the compute context") {
  const kernels::ListUse few{.sums = 1, .width = 1}, many{.sums = 100000, .width = 512};
  on_devices([&](Device device) {
    const Edges e = random_edges(500, 4000, device);
    const auto list = [&](const kernels::ListUse& use) { return e.list(use); };
    CHECK_FALSE(list({}).scatters(DType::f32));
    CHECK(list(few).scatters(DType::f32));
    CHECK(list(few).scatters(DType::bf16));
    CHECK(list(few).scatters(DType::f64) == device.is_cpu());
    CHECK(list(few).reversed().scatters(DType::f32));
    CHECK(list(few).loops_appended().scatters(DType::f32));
    CHECK_FALSE(list(many).scatters(DType::f32));
    const Relation sorted = e.sorted().relation();
    {
      const ComputeScope scope({.aggregation = Aggregation::scatter});
      CHECK(list({}).scatters(DType::f32));
      CHECK(list(many).scatters(DType::f32));
      CHECK_FALSE(sorted.scatters(DType::f32));
    }
    const ComputeScope scope({.aggregation = Aggregation::reduce});
    CHECK_FALSE(list(few).scatters(DType::f32));
  });
}

TEST_CASE("an edge list keeps its use on another device") {
  const Edges e = random_edges(500, 4000, Device::cpu());
  const Relation list = e.list({.sums = 1, .width = 1});
  for (Device device : devices()) {
    CHECK(list.to(device).scatters(DType::f32));
    CHECK(list.loops_appended().to(device).coo().loops == 500);
  }
}

TEST_CASE("degrees of an edge list have the bits of sorted rows") {
  for (Device device : devices())
    for (int64_t edges : {0, 1, 700, 90000}) {
      CAPTURE(edges);
      const Edges e = random_edges(1000, edges, device);
      const Relation list = e.list(), sorted = e.sorted().relation();
      CHECK(same_bits(list.in_degrees(), sorted.in_degrees()));
      CHECK(same_bits(list.out_degrees(), sorted.out_degrees()));
      CHECK(same_bits(list.reversed().in_degrees(), sorted.out_degrees()));
    }
}

TEST_CASE("loops are appended after the edges, which keep their numbers") {
  for (Device device : devices()) {
    const Edges e = random_edges(40, 90, device);
    const Relation list = e.list();
    const Relation& looped = list.loops_appended();
    CHECK(&looped == &list.loops_appended());
    CHECK(looped.num_edges() == 130);
    CHECK(looped.coo().loops == 40);
    auto src = e.src.to_vector<int32_t>(), dst = e.dst.to_vector<int32_t>();
    for (int32_t i : numbers(40)) src.push_back(i), dst.push_back(i);
    CHECK(looped.edge_index().src.to_vector<int32_t>() == src);
    CHECK(looped.edge_index().dst.to_vector<int32_t>() == dst);
    CHECK(looped.reversed().coo().row.to_vector<int32_t>() == src);
    CHECK(list.reversed().loops_appended().coo().row.to_vector<int32_t>() == src);
  }
}

TEST_CASE("the adjacencies of a list equal those of the sorted graph") {
  for (Device device : devices())
    for (bool weighted : {false, true}) {
      CAPTURE(weighted);
      const Edges e = random_edges(60, 400, device);
      const Graph sorted = e.sorted(weighted);
      const ComputeScope scope({.aggregation = Aggregation::scatter});
      const Graph list(e.list(), weighted ? e.weight : Tensor());
      CHECK(close(list.adjacency().to_dense(), sorted.adjacency().to_dense()));
      CHECK(close(list.mean_adjacency().to_dense(), sorted.mean_adjacency().to_dense()));
      for (float loop : {0.0f, 1.0f, 2.0f}) {
        CAPTURE(loop);
        const SparseMatrix& a = list.gcn_adjacency(loop);
        CHECK(a.relation().scatters(DType::f32));
        CHECK(close(a.to_dense(), sorted.gcn_adjacency(loop).to_dense(), 1e-6));
      }
      // It can still be read as CSR.
      const SparseMatrix& a = list.gcn_adjacency();
      CHECK(a.matrix().csr.entries() == a.entries());
    }
}

TEST_CASE("--explain names the choice and the reason") {
  set_explaining(true);
  const Edges e = random_edges(500, 4000, Device::cpu());
  const auto says = [&](const kernels::ListUse& use, const char* what) {
    (void)e.list(use).scatters(DType::f32);
    const auto lines = explanations();
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.starts_with("sums over a list of 4000 edges between 500 and 500 nodes, float32, cpu: ") &&
             line.find(what) != std::string::npos;
    });
  };
  CHECK(says({.sums = 1, .width = 1}, "scattered over the unsorted list: for 1 sums of width 1"));
  CHECK(says({.sums = 100000, .width = 512}, "reduced over sorted rows: for 100000 sums of width 512"));
  CHECK(says({}, "reduced over sorted rows: the number of uses of the list is unknown"));
  const ComputeScope scope({.aggregation = Aggregation::scatter});
  CHECK(says({}, "scattered over the unsorted list: as requested"));
  set_explaining(false);
}

TEST_CASE("edge lists refuse negative uses, and self-loops between two node sets") {
  const Tensor none = ints({});
  CHECK_ERROR_HAS(detail::list_for({.sums = -1}, 3, 4, none, none),
                  "for -1 sums of width 0, expected 0 or more");
  CHECK_ERROR_HAS(Relation::from_coo(3, 4, none, none).loops_appended(),
                  "relation of 3 sources and 4 targets: self-loops require one set of nodes");
}
