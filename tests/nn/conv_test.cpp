#include "../reference/plain.h"
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/conv/sg_conv.h>
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 23;
using Widths = std::pair<int64_t, int64_t>;

// A layer whose parameters are float64, for gradient checks.
template <class Layer>
void in_float64(Layer& layer, Draw& draw, Device device) {
  layer.to(device);
  layer.weight.set_value(draw.normal(layer.weight.shape()));
  if (layer.bias) layer.bias.set_value(draw.off_zero(layer.bias.shape()));
}

}  // namespace

TEST_CASE("GCNConv equals a dense computation in either order, with sparse and dense features") {
  for (Device device : devices())
    for (const auto& [in, out] : {Widths{3, 8}, {8, 3}, {5, 5}, {1, 1}})
      for (bool has_bias : {true, false})
        for (bool weighted : {false, true})
          for (Activation activation : {Activation::none, Activation::relu}) {
            CAPTURE(device.str());
            CAPTURE(in);
            CAPTURE(out);
            CAPTURE(weighted);
            Draw draw(200, device, DType::f32);
            const Graph graph = draw.graph(kNodes, 60, weighted);
            nn::Model<nn::GCNConv> layer(in, out,
                                         nn::GCNConvOptions{.bias = has_bias, .activation = activation});
            layer.to(device);
            if (has_bias) layer.bias.set_value(draw.normal({out}));
            const SparseMatrix sparse = draw.sparse(kNodes, in, 3 * kNodes);
            const Tensor dense = sparse.to_dense();
            Dense expected = draw.gcn(kNodes) * (dense_of(sparse) * Dense(layer.weight.value()));
            if (has_bias) expected = plus_row(expected, layer.bias.value());
            if (activation == Activation::relu) expected = mapped(expected, relu_of);
            CHECK(close(layer(graph, sparse).value(), expected.data, 1e-5));
            CHECK(close(layer(graph, Var::parameter(dense)).value(), expected.data, 1e-5));
            for (int i = 0; i < 3; ++i) CHECK(close(layer(graph, dense).value(), expected.data, 1e-5));
            CHECK(layer.parameters().size() == (has_bias ? 2 : 1));
          }
}

TEST_CASE("GCNConv gives weights the same gradients from dense and sparse features") {
  for (Device device : devices())
    for (const auto& [in, out] : {Widths{3, 8}, {8, 3}}) {
      Draw draw(201, device, DType::f32);
      const Graph graph = draw.graph(kNodes, 60);
      nn::Model<nn::GCNConv> layer(in, out);
      layer.to(device);
      const SparseMatrix sparse = draw.sparse(kNodes, in, 3 * kNodes);
      const Tensor seed = draw.normal({kNodes, out});
      const auto gradients = [&](const auto& x) {
        layer.zero_grad();
        layer(graph, x).backward(seed);
        return std::pair{layer.weight.grad(), layer.bias.grad()};
      };
      const auto from_sparse = gradients(sparse), from_dense = gradients(sparse.to_dense());
      const auto from_variable = gradients(Var::parameter(sparse.to_dense()));
      CHECK(close(from_dense.first, from_sparse.first, 1e-5));
      CHECK(close(from_dense.second, from_sparse.second, 1e-5));
      CHECK(close(from_variable.first, from_sparse.first, 1e-5));
    }
}

TEST_CASE("gradients of GCNConv") {
  for (Device device : devices())
    for (const auto& [in, out] : {Widths{2, 4}, {4, 2}})
      for (bool weighted : {false, true}) {
        CAPTURE(in);
        CAPTURE(weighted);
        Draw draw(202, device);
        const Graph graph = draw.graph(9, 20, weighted);
        nn::Model<nn::GCNConv> layer(in, out);
        in_float64(layer, draw, device);
        const auto f = [&](const std::vector<Var>& v) {
          layer.weight = v[1];
          layer.bias = v[2];
          return layer(graph, v[0]);
        };
        check(f, {draw.normal({9, in}), layer.weight.value(), layer.bias.value()});
      }
}

TEST_CASE("gradients of a two-layer GCN through relu, dropout and loss") {
  for (Device device : devices()) {
    Draw draw(203, device);
    const Graph graph = draw.graph(9, 20);
    nn::Model<nn::GCNConv> first(3, 5, nn::GCNConvOptions{.activation = Activation::relu}), second(5, 2);
    in_float64(first, draw, device);
    in_float64(second, draw, device);
    const Tensor x = draw.normal({9, 3}), label = draw.ints(9, 0, 2), index = draw.distinct(5, 9);
    const auto f = [&](const std::vector<Var>& v) {
      first.weight = v[0];
      second.weight = v[1];
      Generator generator(1);
      const Var h = dropout(first(graph, x), 0.3f, true, generator);
      return cross_entropy(second(graph, h), label, index);
    };
    check(f, {first.weight.value(), second.weight.value()});
  }
}

TEST_CASE("SGConv equals a dense computation for sparse, dense and differentiable features") {
  for (Device device : devices())
    for (int hops : {1, 2, 3})
      for (bool has_bias : {true, false}) {
        CAPTURE(device.str());
        CAPTURE(hops);
        Draw draw(204, device, DType::f32);
        const Graph graph = draw.graph(kNodes, 60, true);
        nn::Model<nn::SGConv> layer(6, 4, nn::SGConvOptions{hops, has_bias});
        layer.to(device);
        if (has_bias) layer.bias.set_value(draw.normal({4}));
        const SparseMatrix sparse = draw.sparse(kNodes, 6, 50);
        Dense expected = dense_of(sparse) * Dense(layer.weight.value());
        for (int hop = 0; hop < hops; ++hop) expected = draw.gcn(kNodes) * expected;
        if (has_bias) expected = plus_row(expected, layer.bias.value());
        CHECK(close(layer(graph, sparse).value(), expected.data, 1e-5));
        const Tensor dense = sparse.to_dense();
        CHECK(close(layer(graph, Var::parameter(dense)).value(), expected.data, 1e-5));
        for (int i = 0; i < 3; ++i) CHECK(close(layer(graph, dense).value(), expected.data, 1e-5));
      }
}

TEST_CASE("gradients of SGConv") {
  for (Device device : devices()) {
    Draw draw(205, device);
    const Graph graph = draw.graph(9, 20, true);
    nn::Model<nn::SGConv> layer(3, 4, nn::SGConvOptions{2});
    in_float64(layer, draw, device);
    const auto f = [&](const std::vector<Var>& v) {
      layer.weight = v[1];
      layer.bias = v[2];
      return layer(graph, v[0]);
    };
    check(f, {draw.normal({9, 3}), layer.weight.value(), layer.bias.value()});
  }
}

TEST_CASE("graph layers refuse features that do not fit the graph or the weight") {
  Draw draw(206, {}, DType::f32);
  const Graph graph = draw.graph(9, 20);
  nn::Model<nn::GCNConv> gcn(3, 4);
  nn::Model<nn::SGConv> sgc(3, 4);
  for (const std::string& message : {error_of([&] {
                                       gcn(graph, Tensor::zeros({8, 3}));
                                     }),
                                     error_of([&] {
                                       sgc(graph, Tensor::zeros({8, 3}));
                                     })}) {
    CHECK(mentions(message, "[8, 3]"));
    CHECK(mentions(message, "9 nodes"));
  }
  CHECK_THROWS_AS(gcn(graph, Tensor::zeros({9, 2})), Error);
  CHECK_THROWS_AS(sgc(graph, Tensor::zeros({9, 2})), Error);
  CHECK_THROWS_AS(nn::Model<nn::SGConv>(3, 4, nn::SGConvOptions{0}), Error);
}
