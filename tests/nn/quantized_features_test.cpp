// Every layer that takes features takes quantised ones: it gives what it gives for what their bits stand for,
// values and gradients, and holds no dense matrix.
#include "../reference/module_gradients.h"
#include <adjoint/core/allocator.h>
#include <adjoint/data/feature_quantization.h>
#include <adjoint/nn/conv/cheb_conv.h>
#include <adjoint/nn/conv/gat_conv.h>
#include <adjoint/nn/conv/gatv2_conv.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/conv/gin_conv.h>
#include <adjoint/nn/conv/graph_conv.h>
#include <adjoint/nn/conv/sage_conv.h>
#include <adjoint/nn/conv/sg_conv.h>
#include <adjoint/nn/conv/tag_conv.h>
#include <adjoint/nn/conv/transformer_conv.h>
#include <adjoint/nn/mlp.h>
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

Features quantized(const Tensor& x, int bits) {
  const Features dense(x);
  return FeatureQuantization::fit(bits, dense).apply(dense);
}

/// f(layer, name, extra...) for each of them, of `in` features.
template <class F>
void for_layers(int64_t in, F&& f) {
  f(nn::Model<nn::GCNConv>(in, 9), "gcn");
  f(nn::Model<nn::GCNConv>(in, 4), "gcn narrow");
  f(nn::Model<nn::SGConv>(in, 9, nn::SGConvOptions{2}), "sg");
  f(nn::Model<nn::TAGConv>(in, 9), "tag");
  f(nn::Model<nn::ChebConv>(in, 9, 3), "cheb");
  for (Reduce aggr : {Reduce::sum, Reduce::mean}) {
    f(nn::Model<nn::GraphConv>(in, 9, nn::GraphConvOptions{aggr}), "graph");
    f(nn::Model<nn::SAGEConv>(in, 9, nn::SAGEConvOptions{.aggr = aggr}), "sage");
  }
  f(nn::Model<nn::SAGEConv>(in, 4, nn::SAGEConvOptions{.aggr = Reduce::max, .project = true}), "sage pool");
  f(nn::Model<nn::GINConv<>>(nn::GINConvOptions{0.3, true}, std::vector<int64_t>{in, 5, 4}), "gin");
  f(nn::Model<nn::GINConv<nn::Linear>>(nn::GINConvOptions{0.3}, in, 4), "gin of a linear map");
  f(nn::Model<nn::GATConv>(in, 4, nn::GATConvOptions{.heads = 2, .residual = true}), "gat");
  f(nn::Model<nn::GATv2Conv>(in, 4, nn::GATv2ConvOptions{.heads = 2, .residual = true}), "gatv2");
  f(nn::Model<nn::TransformerConv>(in, 4, nn::TransformerConvOptions{.heads = 2}), "transformer");
}

template <class Layer, class X>
std::vector<Tensor> pass(Layer& layer, const Graph& graph, const X& x) {
  layer.zero_grad();
  const Var y = layer(graph, x);
  Generator generator(2);
  y.backward(random_normal(y.shape(), 0.0, 1.0, generator, y.dtype(), y.device()));
  std::vector<Tensor> all{y.value()};
  for (const auto& [name, parameter] : layer.named_parameters())
    if (parameter.grad()) all.push_back(parameter.grad().clone());
  return all;
}

}  // namespace

TEST_CASE("every layer takes quantised features as what their bits stand for") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16})
      for (int bits : {1, 8}) {
        Draw draw(401, device, DType::f32);
        const Graph graph = draw.graph(23, 60);
        const Features x = quantized(draw.normal({23, 6}), bits);
        for_layers(6, [&](auto&& layer, const char* name) {
          CAPTURE(device.str());
          CAPTURE(name_of(dtype));
          CAPTURE(bits);
          CAPTURE(name);
          layer.to(device);
          layer.to(dtype);
          const auto given = pass(layer, graph, x),
                     expected = pass(layer, graph, Var(x.to_dense().to(dtype)));
          REQUIRE(given.size() == expected.size());
          const double tolerance = dtype == DType::f64 ? 1e-10 : dtype == DType::f32 ? 1e-4 : 5e-2;
          // The GIN's inner relu has other gates where bfloat16 rounds its input across 0.
          const bool gated = dtype == DType::bf16 && std::string_view(name) == "gin";
          for (size_t k = 0; k < (gated ? 1 : given.size()); ++k)
            CHECK(close_to_scale(given[k], expected[k], tolerance));
        });
      }
}

TEST_CASE("no layer holds the dense matrix of quantised features") {
  constexpr int64_t kNodes = 600, kWide = 20000;
  const Device device = Device::cpu();
  Draw draw(402, device, DType::f32);
  const Graph graph = draw.graph(kNodes, 1200);
  const Features x = quantized(draw.normal({kNodes, kWide}), 1);
  const size_t dense = kNodes * kWide * sizeof(float);
  for_layers(kWide, [&](auto&& layer, const std::string& name) {
    CAPTURE(name);
    if (name == "gin of a linear map" || name == "sage pool") return;  // dense by contract; maps as wide
    layer.eval();
    const NoGrad no_grad;
    (void)layer(graph, x);
    const size_t before = memory_stats(device).current;
    reset_peak_memory(device);
    (void)layer(graph, x);
    CHECK(memory_stats(device).peak - before < dense / 2);
  });
}

TEST_CASE("the largest of neighbours is of dense features, and refuses quantised ones") {
  Draw draw(403, {}, DType::f32);
  const Graph graph = draw.graph(23, 60);
  const Features x = quantized(draw.normal({23, 6}), 4);
  nn::Model<nn::SAGEConv> sage(6, 4, nn::SAGEConvOptions{.aggr = Reduce::max});
  nn::Model<nn::GraphConv> conv(6, 4, nn::GraphConvOptions{Reduce::max});
  CHECK_THROWS_WITH_AS(sage(graph, x), doctest::Contains("sparse and quantised features"), Error);
  CHECK_THROWS_WITH_AS(conv(graph, x), doctest::Contains("sparse and quantised features"), Error);
  nn::Model<nn::GCNConv> gcn(6, 4);
  CHECK_THROWS_WITH_AS(gcn(graph, x.rows(draw.ints(5, 0, 23))), doctest::Contains("for a graph of 23 nodes"),
                       Error);
}

TEST_CASE("an MLP draws the same dropout from quantised features") {
  for (Device device : devices()) {
    Draw draw(404, device, DType::f32);
    const Features x = quantized(draw.normal({50, 7}), 3);
    nn::Model<nn::MLP> mlp(std::vector<int64_t>{7, 5, 3}, {.dropout = 0.5f});
    mlp.to(device);
    manual_seed(4);
    const Tensor given = mlp(x).value();
    manual_seed(4);
    CHECK(same_bits(given, mlp(Var(x.to_dense())).value()));
  }
}
