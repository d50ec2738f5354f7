// Sparse and quantised features: values and gradients of every layer that takes them are those of the dense
// features, without the dense matrix in memory.
#include "../reference/plain.h"
#include "layers.h"
#include <adjoint/data/feature_quantization.h>
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

Features quantized(const Tensor& x, int bits) {
  const Features dense(x);
  return FeatureQuantization::fit(bits, dense).apply(dense);
}

/// f(layer, name) for every layer that takes Features, with `in` features.
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
  for (bool train_eps : {false, true}) {
    const nn::GINConvOptions options{0.3, train_eps};
    f(nn::Model<nn::GINConv<>>(options, std::vector<int64_t>{in, 5, 4}), "gin");
    f(nn::Model<nn::GINConv<>>(options, std::vector<int64_t>{in, 4}), "gin of one layer");
    f(nn::Model<nn::GINConv<nn::Linear>>(options, in, 4), "gin of a linear map");
  }
  f(nn::Model<nn::GATConv>(in, 4, nn::GATConvOptions{.heads = 2, .residual = true}), "gat");
  f(nn::Model<nn::GATv2Conv>(in, 4, nn::GATv2ConvOptions{.heads = 2, .residual = true}), "gatv2");
  f(nn::Model<nn::TransformerConv>(in, 4, nn::TransformerConvOptions{.heads = 2}), "transformer");
}

}  // namespace

TEST_CASE("sparse and quantised features give the values and gradients of dense ones") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16})
      for (int bits : {1, 8, 32}) {
        Draw draw(401, device, DType::f32);
        manual_seed(1);  // with a few seeds bfloat16 rounds an input of leaky_relu across 0
        const Graph graph = draw.graph(23, 60);
        const Block block(graph.relation(), draw.distinct(23, 100));
        const Tensor drawn = draw.normal({23, 6});
        const Features x = bits < 32 ? quantized(drawn, bits) : Features(draw.sparse(23, 6, 50)).to(dtype);
        const Tensor dense = x.to_dense().to(dtype);  // of duplicate entries, the sum in float32
        const double of_f32 = bits < 32 ? 1e-4 : 1e-5, of_f64 = bits < 32 ? 1e-10 : 1e-6;
        const double tolerance = dtype == DType::f64 ? of_f64 : dtype == DType::f32 ? of_f32 : 5e-2;
        const auto near = [&](const Tensor& a, const Tensor& b) {
          return bits < 32 ? close_to_scale(a, b, tolerance) : close(a, b, tolerance);
        };
        for_layers(6, [&](auto&& layer, const std::string& name) {
          CAPTURES(name_of(dtype), bits, name);
          layer.to(device);
          layer.to(dtype);
          const auto result = pass(layer, graph, x), expected = pass(layer, graph, Var(dense));
          REQUIRE(result.size() == expected.size());
          CHECK(near(layer(graph, Features(dense)).value(), expected[0]));
          CHECK(same_bits(layer(block, x).value(), layer(block, Var(dense)).value()));
          // GIN's inner relu switches where bfloat16 rounds its input across 0.
          const bool gated = dtype == DType::bf16 && name == "gin";
          for (size_t k = 0; k < (gated ? 1 : result.size()); ++k) CHECK(near(result[k], expected[k]));
        });
      }
}

TEST_CASE("sparse features give the values of dense ones with edge weights") {
  on_devices(335, DType::f32, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(23, 60);
    const SparseMatrix sparse = draw.sparse(23, 6, 50);
    const Var weight(draw.uniform({60}, 0.3, 2.0));
    const auto same = [&](auto&& layer, const auto&... edges) {
      layer.to(device);
      layer.eval();
      const Tensor dense = sparse.to_dense(),
                   expected = layer(graph, Var::parameter(dense), edges...).value();
      CHECK(close(layer(graph, Features(sparse), edges...).value(), expected, 1e-5));
      CHECK(close(layer(graph, Features(dense), edges...).value(), expected, 1e-5));
    };
    for (Reduce aggr : {Reduce::sum, Reduce::mean})
      for (const Var& w : {Var(), weight}) {
        same(nn::Model<nn::GraphConv>(6, 4, nn::GraphConvOptions{aggr}), w);
        same(nn::Model<nn::GraphConv>(6, 9, nn::GraphConvOptions{aggr, false}), w);
      }
    same(nn::Model<nn::GCNConv>(6, 9), weight);
    same(nn::Model<nn::SGConv>(6, 9, nn::SGConvOptions{2}), weight);
    same(nn::Model<nn::TAGConv>(6, 9), weight);
    same(nn::Model<nn::ChebConv>(6, 9, 3), nn::ChebConvCall{weight, {}});
    for (bool train_eps : {false, true})
      same(nn::Model<nn::GINConv<>>(nn::GINConvOptions{0.3, train_eps}, std::vector<int64_t>{6, 5, 4},
                                    nn::MLPOptions{.dropout = 0.5f}));
  });
}

TEST_CASE("no layer allocates the dense matrix of quantised features") {
  constexpr int64_t kNodes = 600, kWide = 20000;
  const Device device = Device::cpu();
  Draw draw(402, device, DType::f32);
  const Graph graph = draw.graph(kNodes, 1200);
  const Features x = quantized(draw.normal({kNodes, kWide}), 1);
  const size_t dense = kNodes * kWide * sizeof(float);
  for_layers(kWide, [&](auto&& layer, const std::string& name) {
    CAPTURE(name);
    if (name == "gin of a linear map" || name == "sage pool") return;  // dense by contract; output as wide
    layer.eval();
    const NoGrad no_grad;
    CHECK(peak_memory(device, [&] { (void)layer(graph, x); }) < dense / 2);
  });
}

TEST_CASE("maxima over neighbours are those of dense features") {
  Draw draw(403, {}, DType::f32);
  const Graph graph = draw.graph(23, 60);
  const Features x = quantized(draw.normal({23, 6}), 4);
  const auto check = [&](auto&& layer) {
    CHECK(same_bits(layer(graph, x).value(), layer(graph, Var(x.to_dense())).value()));
    CHECK_ERROR_HAS(layer(graph, x.rows(draw.ints(5, 0, 23))), "[5, 6] for a graph of 23 nodes");
  };
  check(nn::Model<nn::SAGEConv>(6, 4, nn::SAGEConvOptions{.aggr = Reduce::max}));
  check(nn::Model<nn::GraphConv>(6, 4, nn::GraphConvOptions{Reduce::max}));
}

TEST_CASE("an MLP draws the same dropout from quantised features") {
  on_devices(404, DType::f32, [&](Draw& draw, Device device) {
    const Features x = quantized(draw.normal({50, 7}), 3);
    nn::Model<nn::MLP> mlp(std::vector<int64_t>{7, 5, 3}, {.dropout = 0.5f});
    mlp.to(device);
    manual_seed(4);
    const Tensor result = mlp(x).value();
    manual_seed(4);
    CHECK(same_bits(result, mlp(Var(x.to_dense())).value()));
  });
}
