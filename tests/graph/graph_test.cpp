#include "edges.h"
#include <adjoint/data/dataset.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/graph/transforms.h>
#include <adjoint/kernels/aggregate/spmm.h>

#include <algorithm>
#include <cmath>

using namespace adj;
using namespace adj::test;

namespace {

using Edge = std::tuple<int32_t, int32_t, float>;  // target, source, weight

std::vector<Edge> edges_of(const Graph& graph) {
  std::vector<Edge> list;
  const auto weights = graph.edge_weight() ? graph.edge_weight().to_vector<float>() : std::vector<float>();
  for (const auto& [source, target] : cells_of(graph.edge_index()))
    list.emplace_back(target, source, weights.empty() ? 1.0f : weights[list.size()]);
  return list;
}

struct Columns {
  std::vector<int32_t> src, dst;
  std::vector<float> weight;

  explicit Columns(const std::vector<Edge>& list) {
    for (const auto& [target, source, w] : list)
      dst.push_back(target), src.push_back(source), weight.push_back(w);
  }
};

Graph make(int64_t nodes, const std::vector<Edge>& list, bool weighted = true, Device device = {}) {
  const Columns edges(list);
  return Graph::from_coo(nodes, ints(edges.src, device), ints(edges.dst, device),
                         weighted ? Tensor::from(edges.weight, device) : Tensor());
}

std::vector<Edge> random_edges(int64_t count, int32_t nodes) {
  const auto a = random_ints(count, 0, nodes).to_vector<int32_t>();
  auto b = random_ints(count, 0, nodes).to_vector<int32_t>();
  const auto w = random_uniform({count}, 0.5, 1.5, default_generator()).to_vector<float>();
  std::vector<Edge> list;
  for (size_t e = 0; e < a.size(); ++e) {
    if (e % 3 == 0) b[e] = b[e] % 3;  // hubs, parallel edges, self-loops
    list.emplace_back(a[e], b[e], w[e]);
  }
  return list;
}

/// A kernel's result for a view whose values are in its own order.
Tensor dense(const CsrMatrix& a) {
  CHECK(!a.order);
  return SparseMatrix(Relation::from_csr(a.csr), a.values).to_dense();
}

Dense dense_gcn(int64_t nodes, const std::vector<Edge>& list, bool weighted) {
  const Columns edges(list);
  return gcn_of(nodes, ints(edges.src), ints(edges.dst), weighted ? Tensor::from(edges.weight) : Tensor());
}

}  // namespace

TEST_CASE("a graph keeps every edge, sorted by target and source, with its place in the input") {
  for (Device device : devices())
    for (auto [nodes, count] : {std::pair{1, 0}, {1, 3}, {5, 0}, {40, 300}, {1000, 501}}) {
      CAPTURE(count);
      const std::vector<Edge> list = random_edges(count, nodes);
      const Graph graph = make(nodes, list, true, device);
      std::vector<Edge> sorted = list;
      std::stable_sort(sorted.begin(), sorted.end(), [](const Edge& a, const Edge& b) {
        return std::pair(std::get<0>(a), std::get<1>(a)) < std::pair(std::get<0>(b), std::get<1>(b));
      });
      CHECK(edges_of(graph) == sorted);
      CHECK(graph.num_nodes() == nodes);
      CHECK(graph.num_edges() == count);
      CHECK(same_bits(graph.in_degrees(), graph.relation().in_degrees()));
      CHECK(same_bits(graph.out_degrees(), graph.relation().out_degrees()));
      const auto order = graph.input_order().to_vector<int32_t>();
      for (size_t e = 0; e < order.size(); ++e) CHECK(list[uz(order[e])] == sorted[e]);
      const Tensor ones = Tensor::full({count}, 1.0, DType::f32, device);
      CHECK(graph.with_edge_weight(ones).input_order().to_vector<int32_t>() == order);
    }
}

TEST_CASE("int64 indices and the input's order do not matter") {
  std::vector<Edge> list = random_edges(200, 30);
  const Graph graph = make(30, list, false);
  std::reverse(list.begin(), list.end());
  const Columns edges(list);
  const Graph again = Graph::from_coo(30, ints(edges.src).to(DType::i64), ints(edges.dst).to(DType::i64));
  CHECK(same_bits(graph.in_edges().indices, again.in_edges().indices));
  CHECK(same_bits(graph.in_edges().offsets, again.in_edges().offsets));
}

TEST_CASE("a graph is symmetric by edges and weights, for any order of parallel edges") {
  CHECK(make(3, {{0, 1, 2}, {1, 0, 2}, {2, 2, 5}}).is_symmetric());
  CHECK(!make(3, {{0, 1, 2}, {1, 0, 3}}).is_symmetric());
  CHECK(make(3, {{0, 1, 2}, {1, 0, 3}}, false).is_symmetric());
  CHECK(!make(3, {{0, 1, 1}, {1, 2, 1}, {2, 0, 1}}).is_symmetric());
  CHECK(make(2, {{0, 1, 2}, {0, 1, 3}, {1, 0, 3}, {1, 0, 2}}).is_symmetric());
  CHECK(!make(2, {{0, 1, 2}, {0, 1, 3}, {1, 0, 3}, {1, 0, 3}}).is_symmetric());
  CHECK(make(4, {}).is_symmetric());
}

TEST_CASE("has_self_loops") {
  for (Device device : devices()) {
    CHECK(!make(3, {{0, 1, 1}}, true, device).has_self_loops());
    CHECK(make(3, {{0, 1, 1}, {2, 2, 1}, {2, 2, 1}}, true, device).has_self_loops());
    CHECK(!make(3, {}, true, device).has_self_loops());
  }
}

TEST_CASE("gcn_adjacency is D^-1/2 (A + I) D^-1/2") {
  for (Device device : devices())
    for (bool weighted : {false, true})
      for (auto [nodes, count] : {std::pair{1, 0}, {1, 1}, {6, 0}, {6, 9}, {50, 120}, {90, 1500}}) {
        CAPTURE(count);
        const std::vector<Edge> list = random_edges(count, nodes);
        const Graph graph = make(nodes, list, weighted, device);
        const SparseMatrix& a = graph.gcn_adjacency();
        const Dense expected = dense_gcn(nodes, list, weighted);
        CHECK(close(a.to_dense(), expected.data, 1e-6));
        CHECK(close(dense(a.adjoint()), transposed(expected).data, 1e-6));
        CHECK(&a == &graph.gcn_adjacency());
      }
}

TEST_CASE("gcn_adjacency takes the last of several self-loops of a node, as PyG") {
  for (Device device : devices()) {
    // add_remaining_self_loops: existing loops keep their weight, and loop_attr[i] = weight in order.
    const std::vector<Edge> list{{0, 0, 5}, {1, 0, 1}, {0, 0, 2}, {2, 2, 0}, {0, 1, 1}, {0, 0, 3}, {2, 2, 4}};
    const auto expected = [](double d0, double d1, double d2, double l0, double l1, double l2) {
      const double edge = 1.0 / std::sqrt(d0 * d1);
      return Numbers{l0 / d0, edge, 0.0, edge, l1 / d1, 0.0, 0.0, 0.0, l2 / d2};
    };
    const Graph weighted = make(3, list, true, device), plain = make(3, list, false, device);
    CHECK(close(weighted.gcn_adjacency().to_dense(), expected(4, 2, 4, 3, 1, 4), 1e-6));
    CHECK(close(weighted.gcn_adjacency(2.0f).to_dense(), expected(4, 3, 4, 3, 2, 4), 1e-6));
    CHECK(close(plain.gcn_adjacency().to_dense(), expected(2, 2, 1, 1, 1, 1), 1e-6));
    CHECK(close(plain.gcn_adjacency(2.0f).to_dense(), expected(2, 3, 1, 1, 2, 1), 1e-6));
    CHECK(weighted.gcn_adjacency().entries() == 5);
    // The graph keeps the others.
    CHECK(weighted.num_edges() == 7);
    CHECK(values(weighted.adjacency().to_dense())[0] == 10.0);
  }
}

TEST_CASE("gcn_adjacency is finite where the product of two degrees exceeds float32") {
  for (Device device : devices())
    for (float w : {1e25f, 1e-25f}) {
      CAPTURE(w);
      const Graph graph = make(2, {{0, 1, w}, {1, 0, w}, {0, 0, w}, {1, 1, w}}, true, device);
      CHECK(close(graph.gcn_adjacency().to_dense(), {0.5, 0.5, 0.5, 0.5}, 1e-5));
    }
}

TEST_CASE("gcn_adjacency of a symmetric graph keeps one structure and one copy of the values") {
  const Graph graph = to_undirected(make(40, random_edges(150, 40)));
  REQUIRE(graph.is_symmetric());
  const SparseMatrix& a = graph.gcn_adjacency();
  CHECK(&a.relation().transposed() == &a.relation().csr());
  CHECK(a.adjoint().values.shares_storage_with(a.values()));
  CHECK(close(a.to_dense(), dense_gcn(40, edges_of(graph), true).data, 1e-6));
}

TEST_CASE("a symmetric structure with other weights is not self-adjoint") {
  const std::vector<Edge> list = {{0, 1, 2}, {1, 0, 3}, {1, 2, 4}, {2, 1, 5}};
  const Graph graph = make(3, list);
  CHECK(graph.relation().symmetric());
  CHECK(!graph.is_symmetric());
  CHECK(close(dense(graph.gcn_adjacency().adjoint()), transposed(dense_gcn(3, list, true)).data, 1e-6));
  CHECK(close(dense(graph.adjacency().adjoint()), std::vector<double>{0, 3, 0, 2, 0, 5, 0, 4, 0}));
}

TEST_CASE("a graph with all self-loops shares its structure with its normalisation") {
  const Graph graph = make(2, {{0, 0, 1}, {1, 1, 1}, {0, 1, 1}}, false);
  CHECK(graph.gcn_adjacency().relation() == graph.relation());
}

TEST_CASE("mean_adjacency averages over in-edges") {
  for (Device device : devices()) {
    const std::vector<Edge> list = random_edges(100, 30);
    const Graph graph = make(30, list, true, device);
    Dense a(30, 30), sum(30, 1);
    for (const auto& [i, j, w] : list) a(i, j) += static_cast<double>(w), sum(i, 0) += static_cast<double>(w);
    for (size_t k = 0; k < a.data.size(); ++k)
      if (sum.data[k / 30] != 0.0) a.data[k] /= sum.data[k / 30];
    CHECK(close(graph.mean_adjacency().to_dense(), a.data));
    CHECK(close(dense(graph.mean_adjacency().adjoint()), transposed(a).data));
  }
}

TEST_CASE("edge attributes are stored by edge number, with any width and type") {
  for (Device device : devices()) {
    const std::vector<Edge> list = random_edges(120, 20);
    const Tensor type = random_ints(120, 0, 9, device), length = random_tensor({120, 4}, DType::f32, device);
    const Graph plain = make(20, list, false, device);
    const Columns columns(list);
    const Graph graph = Graph::from_coo(20, ints(columns.src, device), ints(columns.dst, device), {},
                                        {{"type", type}, {"length", length}});
    const std::vector<Cell> cells = cells_of(plain.edge_index());
    const auto order = graph.input_order().to_vector<int32_t>(), types = type.to_vector<int32_t>(),
               found = graph.edge_attr("type").to_vector<int32_t>();
    const std::vector<double> lengths = values(length), found_lengths = values(graph.edge_attr("length"));
    for (size_t e = 0; e < order.size(); ++e) {
      const auto old = uz(order[e]);
      CHECK(cells[e] == Cell{columns.src[old], columns.dst[old]});
      CHECK(found[e] == types[old]);
      for (size_t f = 0; f < 4; ++f) CHECK(found_lengths[4 * e + f] == lengths[4 * old + f]);
    }
    CHECK(
        same_bits(graph.to(Device::cpu()).edge_attr("length"), graph.edge_attr("length").to(Device::cpu())));

    const Graph more = graph.with_edge_attr("time", random_tensor({120}, DType::f64, device));
    CHECK(more.relation() == graph.relation());
    CHECK(&more.gcn_adjacency() == &graph.gcn_adjacency());  // derived data are shared
    CHECK(more.edge_attributes().size() == 3);
    CHECK(more.with_edge_attr("type", {}).edge_attributes().size() == 2);
    CHECK(same_bits(more.with_edge_attr("type", {}).edge_attr("length"), graph.edge_attr("length")));
    CHECK(graph.edge_attributes().size() == 2);
    CHECK_ERROR(graph.edge_attr("time"), "graph: no edge attribute \"time\", expected one of: length, type");
    CHECK_ERROR_HAS(graph.with_edge_attr("time", random_tensor({119}, DType::f32, device)),
                    "\"time\" is [119] float32");
    CHECK_ERROR_HAS(plain.edge_attr("type"), "(none)");

    const Graph doubled = graph.with_edge_weight(Tensor::full({120}, 2.0, DType::f32, device));
    CHECK(doubled.relation() == graph.relation());
    CHECK(edges_of(doubled)[5] == Edge{cells[5].second, cells[5].first, 2.0f});
    CHECK(!graph.edge_weight());
    CHECK_THROWS_AS(graph.with_edge_weight(Tensor::zeros({3}, DType::f32, device)), Error);
  }
}

TEST_CASE("a graph of an unsorted relation keeps its edge numbers and has the same adjacencies") {
  for (Device device : devices()) {
    const std::vector<Edge> list = random_edges(150, 25);
    const Columns columns(list);
    const Tensor weight = Tensor::from(columns.weight, device);
    const Relation relation = relation_of({25, columns.src, columns.dst}, device);
    const Graph graph(relation, weight), sorted = make(25, list, true, device);
    CHECK(graph.edge_index().src.to_vector<int32_t>() == columns.src);
    CHECK(graph.edge_weight().to_vector<float>() == columns.weight);
    CHECK(!graph.input_order());
    for (const auto derived : {&Graph::adjacency, &Graph::gcn_adjacency, &Graph::mean_adjacency}) {
      CHECK(same_bits((graph.*derived)().to_dense(), (sorted.*derived)().to_dense()));
      CHECK(same_bits(dense((graph.*derived)().adjoint()), dense((sorted.*derived)().adjoint())));
    }
    CHECK(!graph.is_symmetric());
    CHECK(Graph(to_undirected(graph).relation().reversed()).is_symmetric());
    const SparseMatrix unsorted(relation, weight);
    CHECK(close(unsorted.row_normalized().to_dense(), sorted.mean_adjacency().to_dense()));
  }
  CHECK_ERROR(Graph(Relation::from_coo(2, 3, ints({}), ints({}))),
              "graph: a relation of 2 sources and 3 targets, expected one set of nodes");
}

TEST_CASE("edges out of range are refused with their position") {
  const auto graph = [](int64_t nodes, std::vector<int64_t> src, std::vector<int64_t> dst,
                        Tensor weight = {}) {
    for (Device device : devices())
      (void)Graph::from_coo(nodes, longs(src, device), longs(dst, device), weight.to(device));
  };
  CHECK_ERROR(graph(3, {0, 1, 3}, {0, 1, 2}), "graph of 3 nodes: src[2] is 3, expected 0 to 2");
  CHECK_ERROR(graph(3, {0, 1}, {0, -1}), "graph of 3 nodes: dst[1] is -1, expected 0 to 2");
  CHECK_ERROR_HAS(graph(3, {0, int64_t{1} << 32}, {0, 1}), "src[1] is 4294967296");
  CHECK_ERROR(graph(3, {0, 1}, {0}), "graph of 3 nodes: 2 sources but 1 targets");
  CHECK_ERROR_HAS(graph(int64_t{1} << 31, {}, {}), "2147483648 sources");
  CHECK_ERROR_HAS(graph(3, {0}, {0}, Tensor::zeros({2})), "expected [1] float32");
  CHECK_THROWS_AS(Graph::from_coo(3, Tensor::zeros({1}), Tensor::zeros({1})), Error);
}

TEST_CASE("real graphs are normalised as in float64") {
  for (const char* name : {"cora.h5", "citeseer.h5"}) {
    if (!have_data(name)) continue;
    const Graph graph = load_dataset(data_file(name).string()).graph;
    const Dense expected = dense_gcn(graph.num_nodes(), edges_of(graph), false);
    CHECK(close(graph.gcn_adjacency().to_dense(), expected.data, 1e-6));
  }
}

TEST_CASE("a graph on another device is the same, and computes the same if copied with derived data") {
  on_devices([&](Device device) {
    const int64_t nodes = 300, edges = 4000;
    const Tensor src = random_ints(edges, 0, 300), dst = random_ints(edges, 0, 300);
    for (const bool weighted : {false, true}) {
      const Tensor weight = weighted ? random_ints(edges, 1, 9).to(DType::f32) : Tensor();
      const Graph graph = Graph::from_coo(nodes, src, dst, weight);
      const Graph copied = Graph::from_coo(nodes, src, dst, weight).to(device);
      CHECK(copied.device() == device);
      CHECK(edges_of(copied) == edges_of(graph));
      CHECK(same_bits(copied.input_order(), graph.input_order()));
      CHECK(close(copied.gcn_adjacency().to_dense(), graph.gcn_adjacency().to_dense(), 1e-6));
      (void)graph.gcn_adjacency();
      (void)graph.mean_adjacency();
      (void)graph.out_edges();
      (void)with_self_loops(graph.relation(), SelfLoops::added);
      const Graph carried = graph.to(device);
      CHECK(carried.device() == device);
      const Tensor x = random_tensor({nodes, 24}, DType::f32, device);
      for (const auto& [a, b] : {std::pair(carried.gcn_adjacency(), copied.gcn_adjacency()),
                                 {carried.mean_adjacency(), copied.mean_adjacency()},
                                 {carried.adjacency(), copied.adjacency()}}) {
        const auto product = [&](const CsrMatrix& m) {
          Tensor y = Tensor::empty_like(x);
          kernels::spmm({.a = m, .x = x, .y = y});
          return y;
        };
        CHECK(close(product(a.matrix()), product(b.matrix()), 1e-6));
        CHECK(close(product(a.adjoint()), product(b.adjoint()), 1e-6));
      }
      CHECK(same_bits(carried.in_degrees(), copied.in_degrees()));
      CHECK(same_bits(carried.edge_index().dst, copied.edge_index().dst));
      CHECK(same_bits(with_self_loops(carried.relation(), SelfLoops::added).became,
                      with_self_loops(copied.relation(), SelfLoops::added).became));
    }
  });
}
