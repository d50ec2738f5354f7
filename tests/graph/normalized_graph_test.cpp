#include "edges.h"
#include <adjoint/adjoint.h>

using namespace adj;
using namespace adj::test;

// Graphs with normalised weights, and layers that use them.

namespace {

constexpr int64_t kNodes = 40;

Graph weighted(Device device) {
  return graph_of(erdos_renyi_graph(kNodes, 160, {}, 5), device)
      .with_edge_weight(random_tensor({160}).to(device));
}

Tensor product(const Graph& graph, const Tensor& x) {
  return aggregate(SparseMatrix(graph.relation(), graph.edge_weight()), Var(x)).value();
}

}  // namespace

TEST_CASE("every matrix of a normalised graph has the graph's weights") {
  for (Device device : devices()) {
    const Graph plain = weighted(device), graph = plain.as_normalized();
    CHECK(graph.is_normalized());
    CHECK_FALSE(plain.is_normalized());
    const Tensor expected = plain.adjacency().to_dense();
    CHECK(same_bits(graph.adjacency().to_dense(), expected));
    CHECK(same_bits(graph.gcn_adjacency().to_dense(), expected));
    CHECK(same_bits(graph.gcn_adjacency(2.0f).to_dense(), expected));
    CHECK(same_bits(graph.mean_adjacency().to_dense(), expected));
    CHECK_FALSE(same_bits(plain.mean_adjacency().to_dense(), expected));
    CHECK(graph.to(Device::cpu()).is_normalized());
    CHECK(graph.with_edge_attr("kind", Tensor::zeros({160}, DType::f32, device)).is_normalized());
    CHECK_FALSE(graph.with_edge_weight(plain.edge_weight()).is_normalized());
    CHECK(same_bits(graph.edge_weight(), plain.edge_weight()));
    CHECK_ERROR(graph.with_edge_weight({}).as_normalized(),
                "graph: 160 edges without weights, which as_normalized() would use unchanged");
  }
}

TEST_CASE("layers sum over a normalised graph with its weights") {
  const NoGrad no_grad;
  for (Device device : devices()) {
    const Graph graph = weighted(device).as_normalized();
    // Wide to narrow and narrow to wide: layers aggregate on either side.
    for (const auto& [in, out] : {std::pair<int64_t, int64_t>{6, 3}, {3, 6}}) {
      const Tensor x = random_tensor({kNodes, in}).to(device), summed = product(graph, x);
      nn::Model<nn::GCNConv> gcn(in, out);
      gcn.to(device);
      CHECK(close(gcn(graph, Var(x)).value(), linear(Var(summed), gcn.weight, gcn.bias).value(), 1e-4));
      nn::Model<nn::SAGEConv> sage(in, out);
      sage.to(device);
      CHECK(close(sage(graph, Var(x)).value(),
                  (linear(Var(summed), sage.lin_l.weight, sage.lin_l.bias) + (*sage.lin_r)(Var(x))).value(),
                  1e-4));
      for (bool learns : {false, true}) {
        nn::Model<nn::GINConv<nn::MLP>> gin(nn::GINConvOptions{.eps = 0.5, .train_eps = learns},
                                            std::vector<int64_t>{in, out});
        gin.to(device);
        CHECK(close(gin(graph, Var(x)).value(), gin.nn(Var(summed) + 1.5 * Var(x)).value(), 1e-4));
        CHECK(close(gin(graph, Features(x)).value(), gin.nn(Var(summed) + 1.5 * Var(x)).value(), 1e-4));
      }
    }
  }
}
