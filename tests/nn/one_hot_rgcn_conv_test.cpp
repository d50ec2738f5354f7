#include "../autograd/relation_cases.h"
#include "../graph/edges.h"
#include "layers.h"
#include <adjoint/graph/sample/neighbor_sampler.h>
#include <adjoint/nn/conv/one_hot_rgcn_conv.h>
#include <adjoint/nn/conv/rgcn_conv.h>

using namespace adj;
using namespace adj::nn;
using namespace adj::test;

TEST_CASE("OneHotRGCNConv is RGCNConv of the identity, and its gradients are differences") {
  for (Device device : devices())
    for (const int64_t bases : {0, 2}) {
      Draw draw(430, device);
      const int64_t nodes = 17, edges = 120, relations = 3, out = 4;
      const Graph graph = draw.graph(nodes, edges).with_edge_attr("type", draw.ints(edges, 0, 3));
      Model<OneHotRGCNConv> layer(nodes, out, relations, OneHotRGCNConvOptions{.bases = bases});
      Model<RGCNConv> dense(nodes, out, relations, RGCNConvOptions{.bases = bases});
      for (Module* module : {static_cast<Module*>(&layer), static_cast<Module*>(&dense)}) {
        module->to(device);
        module->to(DType::f64);
      }
      std::map<std::string, Tensor> state;
      for (const auto& [name, tensor] : layer.state())
        state[name] = name == "weight" ? tensor.reshape({bases > 0 ? bases : relations, nodes, out}) : tensor;
      if (bases > 0) {
        const Tensor root = state["comp"].rows(relations, relations + 1);
        state["root"] = matmul(Var(root), layer.weight.detach()).value().reshape({nodes, out});
        state["comp"] = state["comp"].rows(0, relations);
      }
      dense.load_state(state);
      Tensor ones = Tensor::zeros({nodes, nodes}, DType::f64);
      for (int64_t i = 0; i < nodes; ++i) ones.mutable_data<double>()[i * nodes + i] = 1.0;
      const Var identity(ones.to(device));
      const Tensor expected = dense(graph, identity).value();
      CHECK(close(layer(graph).value(), Dense(expected).data, 1e-6));  // 1 / c in float32
      Var& other = bases > 0 ? layer.comp : layer.root;
      check({layer.weight.value(), other.value()}, [&](const std::vector<Var>& v) {
        layer.weight = v[0];
        other = v[1];
        return layer(graph);
      });
      // Of a block with all edges of some nodes, by their numbers.
      const NeighborSampler sampler(graph, {.fanouts = {-1}});
      const Tensor seeds = Tensor::from(std::vector<int32_t>{5, 16, 0}, device);
      const Block block = sampler.sample(seeds, 1)[0];
      const Dense rows(layer(block, block.src_nodes()).value()), all(expected);
      for (int64_t j = 0; j < out; ++j) {
        CHECK(rows(0, j) == doctest::Approx(all(5, j)));
        CHECK(rows(1, j) == doctest::Approx(all(16, j)));
        CHECK(rows(2, j) == doctest::Approx(all(0, j)));
      }
    }
  const Model<OneHotRGCNConv> layer(4, 2, 2);
  const Graph graph = graph_of(4, {0}, {1});
  CHECK_ERROR_HAS(layer(graph), "the edges have no attribute \"type\"");
  CHECK_ERROR_HAS(layer(graph.with_edge_attr("type", Tensor::full({1}, 2, DType::i32))),
                  "edge 0 is of relation 2, expected 0 to 1");
  CHECK_ERROR_HAS(layer(graph_of(3, {0}, {1}).with_edge_attr("type", Tensor::zeros({1}, DType::i32))),
                  "3 nodes, expected 4");
}
