#include "../reference/module_gradients.h"
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/conv/propagation_cache.h>
#include <adjoint/nn/conv/sg_conv.h>
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 23;
using Widths = std::pair<int64_t, int64_t>;

/// Values from sparse, differentiable, dense and constant features; the product of constant ones is kept at
/// the second call.
template <class Layer>
void check_values(Layer& layer, const Graph& graph, const SparseMatrix& x, const Dense& expected) {
  const Tensor dense = x.to_dense();
  CHECK(close(layer(graph, x).value(), expected.data, 1e-5));
  CHECK(close(layer(graph, Var::parameter(dense)).value(), expected.data, 1e-5));
  CHECK(close(layer(graph, dense).value(), expected.data, 1e-5));
  nn::PropagationCache cache;
  for (int i = 0; i < 3; ++i) CHECK(close(layer(graph, cache.constant(dense)).value(), expected.data, 1e-5));
}

}  // namespace

TEST_CASE("GCNConv equals a dense computation in either order, with sparse and dense features") {
  for (Device device : devices())
    for (const auto& [in, out] : {Widths{3, 8}, {8, 3}, {5, 5}, {1, 1}})
      for (bool has_bias : {true, false})
        for (bool weighted : {false, true})
          for (Activation activation : {Activation::none, Activation::relu}) {
            CAPTURES(in, out, weighted);
            Draw draw(200, device, DType::f32);
            const Graph graph = draw.graph(kNodes, 60, weighted);
            nn::Model<nn::GCNConv> layer(in, out,
                                         nn::GCNConvOptions{.bias = has_bias, .activation = activation});
            layer.to(device);
            if (has_bias) layer.bias.set_value(draw.normal({out}));
            const SparseMatrix x = draw.sparse(kNodes, in, 3 * kNodes);
            Dense expected = linear_of(draw.gcn(kNodes) * dense_of(x), layer.weight.value(),
                                       has_bias ? layer.bias.value() : Tensor());
            if (activation == Activation::relu) expected = mapped(expected, relu_of);
            check_values(layer, graph, x, expected);
            CHECK(layer.parameters().size() == (has_bias ? 2 : 1));
          }
}

TEST_CASE("SGConv equals a dense computation for sparse, dense and differentiable features") {
  for (Device device : devices())
    for (int hops : {1, 2, 3})
      for (bool has_bias : {true, false}) {
        CAPTURE(hops);
        Draw draw(204, device, DType::f32);
        const Graph graph = draw.graph(kNodes, 60, true);
        nn::Model<nn::SGConv> layer(6, 4, nn::SGConvOptions{hops, has_bias});
        layer.to(device);
        if (has_bias) layer.bias.set_value(draw.normal({4}));
        const SparseMatrix x = draw.sparse(kNodes, 6, 50);
        Dense hopped = dense_of(x);
        for (int hop = 0; hop < hops; ++hop) hopped = draw.gcn(kNodes) * hopped;
        check_values(layer, graph, x,
                     linear_of(hopped, layer.weight.value(), has_bias ? layer.bias.value() : Tensor()));
      }
}

TEST_CASE("gradients of a two-layer GCN through relu, dropout and loss") {
  on_devices(203, DType::f64, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(9, 20);
    nn::Model<nn::GCNConv> first(3, 5, nn::GCNConvOptions{.activation = Activation::relu}), second(5, 2);
    const Tensor label = draw.ints(9, 0, 2), index = draw.distinct(5, 9);
    second.to(device);
    second.to(DType::f64);
    check_call(first, {draw.normal({9, 3}), second.weight.value()}, [&](auto& layer, const auto& v) {
      second.weight = v[1];
      Generator generator(1);
      const Var h = dropout(layer(graph, v[0]), 0.3f, true, generator);
      return cross_entropy(second(graph, h), label, index);
    });
  });
}
