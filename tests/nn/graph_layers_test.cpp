// Layers alone: memory, initial values, errors. Their values and gradients are compared with PyG's in
// pyg_layers_test.cpp.
#include "../reference/plain.h"
#include "layers.h"
#include "module_state.h"
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::nn;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 9;

}  // namespace

TEST_CASE("GCNConv's activation follows its product and its sum, in either order") {
  on_devices(330, DType::f32, [](Draw& draw, Device device) {
    const Graph graph = draw.graph(kNodes, 30, true);
    for (const auto& [in, out] : {std::pair<int64_t, int64_t>{3, 8}, {8, 3}}) {
      Model<GCNConv> plain(in, out), active(in, out, GCNConvOptions{.activation = Activation::relu});
      plain.to(device), active.to(device);
      plain.bias.set_value(draw.normal({out}));
      active.load_state(copied(plain));
      const SparseMatrix sparse = draw.sparse(kNodes, in, 3 * kNodes);
      for (const Features& x : {Features(sparse), Features(sparse.to_dense())})
        CHECK(close(active(graph, x).value(), relu(plain(graph, x)).value(), 1e-5));
      const Var x = Var::parameter(sparse.to_dense());
      CHECK(close(active(graph, x).value(), relu(plain(graph, x)).value(), 1e-5));
    }
  });
}

TEST_CASE("SAGEConv does not read edge weights") {
  on_devices(210, DType::f32, [](Draw& draw, Device device) {
    const Graph graph = draw.graph(kNodes, 30);
    const Graph weighted = graph.with_edge_weight(draw.uniform({30}, 0.5, 2.0));
    for (const auto& [in, out] : {std::pair<int64_t, int64_t>{3, 8}, {8, 3}})
      for (Reduce aggr : {Reduce::mean, Reduce::sum, Reduce::max, Reduce::min})
        for (bool normalize : {false, true}) {
          Model<SAGEConv> layer(in, out, SAGEConvOptions{.aggr = aggr, .normalize = normalize});
          layer.to(device);
          const SparseMatrix sparse = draw.sparse(kNodes, in, 3 * kNodes);
          const Var x = Var::parameter(sparse.to_dense());
          const Tensor expected = layer(graph, x).value();
          CHECK(close(layer(weighted, x).value(), expected, 1e-5));
          CHECK(close(layer(weighted, Features(sparse)).value(), expected, 1e-5));
        }
  });
}

TEST_CASE("jumping knowledge rejects mismatched layers") {
  using enum Jump;
  const Var three = Tensor::zeros({2, 3}), four = Tensor::zeros({2, 4});
  CHECK_THROWS_AS(jumping_knowledge(cat, {}), Error);
  CHECK_ERROR_HAS(jumping_knowledge(max, {three, four}), "[2, 4]");
  CHECK_ERROR_HAS(jumping_knowledge(lstm, {three}), "JumpingKnowledge");
  CHECK_ERROR_HAS(Model<JumpingKnowledge>(lstm, {.num_layers = 0}), "0 layers of 0");
  const Model<JumpingKnowledge> jump(lstm, {.channels = 3, .num_layers = 2});
  CHECK_ERROR_HAS(jump({three, four}), "LSTM: steps [2, 3] and [2, 4], expected [N, 3]");
}

TEST_CASE("an LSTM's output at a step depends half on earlier steps and half on later ones") {
  on_devices(341, DType::f32, [&](Draw& draw, Device device) {
    Model<LSTM> lstm(4, 5);
    lstm.to(device);
    std::vector<Var> xs;
    for (int t = 0; t < 3; ++t) xs.push_back(draw.normal({6, 4}));
    const auto half = [](const Var& y, int64_t which) { return values(narrow(y, 1, 5 * which, 5).value()); };
    const auto whole = lstm(xs), cut = lstm({xs[0], xs[1]});
    REQUIRE(whole.size() == 3);
    CHECK(whole[0].shape() == Shape{6, 10});
    for (size_t t = 0; t < 2; ++t) {
      CHECK(half(whole[t], 0) == half(cut[t], 0));
      CHECK(half(whole[t], 1) != half(cut[t], 1));
    }
    CHECK(half(whole[2], 1) == half(lstm({xs[2]})[0], 1));
  });
}

TEST_CASE("jumping knowledge by an LSTM in bfloat16 equals float32 up to rounding") {
  on_devices(342, DType::f32, [&](Draw& draw, Device device) {
    Model<JumpingKnowledge> jump(Jump::lstm, {.channels = 4, .num_layers = 3});
    jump.to(device);
    std::vector<Var> xs, narrow_xs;
    for (int l = 0; l < 3; ++l) {
      narrow_xs.push_back(draw.normal({6, 4}).to(DType::bf16));
      xs.push_back(narrow_xs.back().value().to(DType::f32));
    }
    const Tensor exact = jump(xs).value();
    jump.to(DType::bf16);
    const Var y = jump(narrow_xs);
    CHECK(y.dtype() == DType::bf16);
    CHECK(close_to_scale(y.value(), exact, 4 * 0x1p-8));
  });
}

TEST_CASE("GINConv multiplies sparse features before it sums them, with the same gradients") {
  constexpr int64_t kMany = 200, kWide = 4000;
  on_devices(337, DType::f32, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(kMany, 900);
    const SparseMatrix sparse = draw.sparse(kMany, kWide, 1500);
    const Tensor dense = sparse.to_dense();
    for (bool train_eps : {false, true})
      for (const std::vector<int64_t>& widths : {std::vector<int64_t>{kWide, 4}, {kWide, 5, 4}}) {
        Model<GINConv<>> layer(GINConvOptions{0.3, train_eps}, widths);
        layer.to(device);
        const auto expected = pass(layer, graph, Var(dense)), found = pass(layer, graph, Features(sparse));
        REQUIRE(found.size() == expected.size());
        for (size_t k = 0; k < found.size(); ++k) {
          CAPTURE(k);
          CHECK(close(found[k], expected[k], 1e-4));
        }
        const auto step = [&] { (void)pass(layer, graph, Features(sparse)); };
        CHECK(peak_memory(device, step) < dense.bytes() / 4);
        // Dropout before the network applies to the sums.
        Model<GINConv<>> dropping(GINConvOptions{0.3, train_eps}, widths, MLPOptions{.dropout = 0.5f});
        dropping.to(device);
        manual_seed(9);
        const Tensor of_dense = dropping(graph, Var(dense)).value();
        manual_seed(9);
        CHECK(same_bits(dropping(graph, Features(sparse)).value(), of_dense));
      }
  });
}

TEST_CASE("APPNP's dropout draws according to the seed, in training mode only") {
  on_devices(336, DType::f32, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(40, 200);
    const Tensor x = draw.normal({40, 4}), weight = draw.uniform({200}, 0.3, 2.0);
    const auto holds = [&](auto&& layer, const auto&... extra) {
      layer.to(device);
      manual_seed(3);
      const Tensor first = layer(graph, Var(x), extra...).value();
      CHECK_FALSE(same_bits(layer(graph, Var(x), extra...).value(), first));
      manual_seed(3);
      CHECK(same_bits(layer(graph, Var(x), extra...).value(), first));
      layer.eval();
      CHECK(same_bits(layer(graph, Var(x), extra...).value(), layer(graph, Var(x), extra...).value()));
    };
    holds(Model<APPNP>(3, 0.1, APPNPOptions{.dropout = 0.5f}));
    holds(Model<APPNP>(3, 0.1, APPNPOptions{.dropout = 0.5f}), Var(weight));
  });
  // The mean over masks is the result without dropout: the scale is right.
  Draw draw(337, {}, DType::f32);
  const Graph graph = draw.graph(10, 40);
  const Tensor x = draw.uniform({10, 3}, 0.5, 1.5);
  Model<APPNP> layer(1, 0.1, APPNPOptions{.dropout = 0.5f});
  Dense mean(10, 3);
  for (int i = 0; i < 2000; ++i) {
    const Dense y(layer(graph, Var(x)).value());
    for (size_t k = 0; k < mean.data.size(); ++k) mean.data[k] += y.data[k] / 2000.0;
  }
  layer.eval();
  CHECK(close(layer(graph, Var(x)).value(), mean.data, 0.05));
}

TEST_CASE("layers start with PyG's distributions") {
  manual_seed(1);
  const auto check_bound = [](const std::vector<Var>& parameters, double bound) {
    for (const Var& parameter : parameters) {
      double largest = 0.0;
      for (double v : values(parameter.value())) largest = std::max(largest, std::abs(v));
      CHECK(largest <= bound * (1.0 + 1e-6));
      CHECK(largest > (parameter.value().numel() > 500 ? 0.95 : 0.75) * bound);
    }
  };
  const auto zero = [](const Var& parameter) {
    CHECK(values(parameter.value()) == std::vector<double>(uz(parameter.value().numel())));
  };
  const auto glorot = [](double in, double out) { return std::sqrt(6.0 / (in + out)); };
  const auto fan_in = [](double in) { return 1.0 / std::sqrt(in); };
  Model<Linear> linear(40, 30), torch(40, 30, LinearOptions{.initial = Initial::fan_in});
  check_bound({linear.weight}, glorot(40, 30));
  zero(linear.bias);
  check_bound({torch.weight, torch.bias}, fan_in(40));
  Model<GCNConv> gcn(40, 30);
  check_bound({gcn.weight}, glorot(40, 30));
  zero(gcn.bias);
  Model<SGConv> sg(40, 30);
  check_bound({sg.weight, sg.bias}, fan_in(40));
  Model<SAGEConv> sage(Widths{50, 30}, 20, SAGEConvOptions{.aggr = Reduce::max, .project = true});
  check_bound({sage.lin->weight, sage.lin->bias, sage.lin_l.weight, sage.lin_l.bias}, fan_in(50));
  check_bound({sage.lin_r->weight}, fan_in(30));
  CHECK(sage.describe() == "SAGEConv(50 -> 20, max of projected neighbours)");
  Model<GraphConv> graph_conv(40, 30);
  check_bound({graph_conv.lin_rel.weight, graph_conv.lin_rel.bias, graph_conv.lin_root.weight}, fan_in(40));
  CHECK(!graph_conv.lin_root.bias);
  Model<JumpingKnowledge> jump(Jump::lstm, {.channels = 20, .num_layers = 3});
  for (const LSTM::Direction* lstm : {&jump.lstm->forward, &jump.lstm->reverse})
    check_bound({lstm->weight_ih, lstm->weight_hh, lstm->bias_ih, lstm->bias_hh}, fan_in(30));
  check_bound({jump.att->weight}, fan_in(60));
  CHECK(Model<JumpingKnowledge>(Jump::max).parameters().empty());
  Model<TAGConv> tag(40, 30);
  CHECK(tag.lins.size() == 4);
  check_bound({tag.lins[3].weight}, fan_in(40));
  zero(tag.bias);
  Model<ChebConv> cheb(40, 30, 2);
  check_bound({cheb.lins[1].weight}, glorot(40, 30));
  zero(cheb.bias);
  Model<GCN2Conv> gcn2(40, 0.1, GCN2ConvOptions{.shared_weights = false});
  check_bound({gcn2.weight1, gcn2.weight2}, glorot(40, 40));
  Model<GINEConv<>> gine(40, GINEConvOptions{.edge_dim = 30}, std::vector<int64_t>{40, 3});
  check_bound({gine.lin->weight}, fan_in(30));
  Model<GATConv> gat(40, 30, GATConvOptions{.heads = 4, .edge_dim = 20, .residual = true});
  check_bound({gat.lin->weight, gat.res->weight}, glorot(40, 120));
  check_bound({gat.lin_edge->weight}, glorot(20, 120));
  check_bound({gat.att_src, gat.att_dst, gat.att_edge}, glorot(4, 30));
  zero(gat.bias);
  Model<GATv2Conv> gatv2(40, 30, GATv2ConvOptions{.heads = 4});
  check_bound({gatv2.lin_l.weight}, glorot(40, 120));
  check_bound({gatv2.lin_r.bias}, fan_in(40));
  check_bound({gatv2.att}, glorot(4, 30));
  zero(gatv2.bias);
  Model<TransformerConv> dot(40, 30, TransformerConvOptions{.heads = 2, .beta = true});
  for (const Linear& map : {std::cref<Linear>(dot.lin_key), std::cref<Linear>(dot.lin_query),
                            std::cref<Linear>(dot.lin_value), std::cref<Linear>(dot.lin_skip)})
    check_bound({map.weight, map.bias}, fan_in(40));
  check_bound({dot.lin_beta->weight}, fan_in(180));
  CHECK(Model<AGNNConv>().beta.item() == 1.0);
  CHECK(Model<AGNNConv>(AGNNConvOptions{false}).parameters().empty());
}

TEST_CASE("layers reject mismatched features, weights and options") {
  Draw draw(338, {}, DType::f32);
  const Graph graph = draw.graph(kNodes, 20);
  const Tensor x = draw.normal({kNodes, 4}), few = draw.normal({8, 4}), attr = draw.normal({20, 2});
  const auto refuses = [&](auto&& layer, const char* part, const auto&... arguments) {
    CHECK_ERROR_HAS(layer(graph, arguments...), part);
  };
  refuses(Model<GraphConv>(4, 3), "[8, 4]", Var(few));
  refuses(Model<GraphConv>(4, 3), "[7]", Var(x), Var(draw.normal({7})));
  refuses(Model<GraphConv>(4, 3, GraphConvOptions{Reduce::std}), "std", Var(x), Var(draw.normal({20})));
  refuses(Model<GCNConv>(4, 3), "[7]", Var(x), Var(draw.normal({7})));
  refuses(Model<GCNConv>(4, 3), "features [8, 4] for a graph of 9 nodes", Var(few));
  refuses(Model<SGConv>(4, 3), "features [8, 4] for a graph of 9 nodes", Var(few));
  refuses(Model<GCNConv>(3, 3), "[9, 4]", Var(x));
  refuses(Model<SGConv>(3, 3), "[9, 4]", Var(x));
  refuses(Model<ChebConv>(4, 3, 2), "[7]", Var(x), ChebConvCall{Var(draw.normal({7})), {}});
  refuses(Model<ChebConv>(4, 3, 2), "lambda_max", Var(x), ChebConvCall{{}, -1.0});
  refuses(Model<GCN2Conv>(4, 0.1), "[9, 3]", Var(x), Var(draw.normal({kNodes, 3})));
  refuses(Model<GINConv<>>(GINConvOptions{}, std::vector<int64_t>{4, 3}), "[8, 4]", Var(few));
  const std::vector<int64_t> net{4, 3};
  refuses(Model<GINEConv<>>(4, GINEConvOptions{}, net), "edge_dim", Var(x), Var(attr));
  refuses(Model<GINEConv<>>(4, GINEConvOptions{.edge_dim = 3}, net), "[20, 3]", Var(x), Var(attr));
  refuses(Model<GATConv>(4, 3), "edge_dim", Var(x), Var(attr));
  refuses(Model<GATConv>(4, 3, GATConvOptions{.edge_dim = 2}), "absent", Var(x));
  refuses(Model<GATConv>(4, 3, GATConvOptions{.edge_dim = 3}), "[20, 3]", Var(x), Var(attr));
  refuses(Model<GATv2Conv>(4, 3), "[8, 4]", Var(few));
  refuses(Model<SAGEConv>(4, 3, SAGEConvOptions{.aggr = Reduce::max}), "[8, 4]", Var(few));
  CHECK_ERROR_HAS(Model<SAGEConv>(0, 3), "0 -> 3");
  refuses(Model<TransformerConv>(4, 3), "[8, 4]", Var(few));
  refuses(Model<AGNNConv>(), "[8, 4]", Var(few));
  CHECK_THROWS_AS(Model<GCNConv>(4, 3, GCNConvOptions{.add_self_loops = true, .normalize = false}), Error);
  CHECK_THROWS_AS(Model<GCN2Conv>(4, 0.1, GCN2ConvOptions{.theta = 0.5}), Error);
  CHECK_THROWS_AS(Model<SGConv>(3, 4, SGConvOptions{0}), Error);
  CHECK_THROWS_AS(Model<APPNP>(0, 0.1), Error);
  CHECK_THROWS_AS(Model<APPNP>(2, 1.5), Error);
  CHECK_THROWS_AS(Model<APPNP>(2, 0.5, APPNPOptions{.dropout = 1.0f}), Error);
  CHECK_THROWS_AS(Model<ChebConv>(4, 3, 0), Error);
  CHECK_THROWS_AS(Model<GATConv>(4, 3, GATConvOptions{.heads = 0}), Error);
  CHECK_THROWS_AS(Model<GATv2Conv>(Widths(4, 3), 3, GATv2ConvOptions{.share_weights = true}), Error);
}

TEST_CASE("a fixed ε may be loaded repeatedly") {
  on_devices(339, DType::f32, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(kNodes, 20);
    Model<GINConv<>> layer(GINConvOptions{0.5}, std::vector<int64_t>{4, 4});
    layer.to(device);
    const Tensor x = draw.normal({kNodes, 4});
    const auto expected = [&](double eps) {
      const Var sum = aggregate(graph, Var(x)) + Var(x) * (1.0 + eps);
      return layer.nn(sum).value();
    };
    CHECK(close(layer(graph, Var::parameter(x)).value(), expected(0.5), 1e-5));
    std::map<std::string, Tensor> state = copied(layer);
    state["eps"] = Tensor::full({1}, -0.75);
    layer.load_state(state);
    CHECK(close(layer(graph, Var::parameter(x)).value(), expected(-0.75), 1e-5));
  });
}

TEST_CASE("no layer allocates a tensor of edges x features") {
  on_devices(340, DType::f32, [&](Draw& draw, Device device) {
    constexpr int64_t kManyNodes = 200, kEdges = 40000, kWidth = 64;
    const Graph graph = draw.graph(kManyNodes, kEdges);
    const Var x = Var::parameter(draw.normal({kManyNodes, kWidth}));
    const Var weight = Var::parameter(draw.uniform({kEdges}, 0.3, 2.0));
    const Var attr = Var::parameter(draw.normal({kEdges, 2}));
    const auto holds = [&](auto&& layer, const auto&... extra) {
      layer.to(device);
      const size_t peak = peak_memory(device, [&] { sum(layer(graph, x, extra...)).backward(); });
      CHECK(peak < uz(kEdges * kWidth) * sizeof(float) / 2);
    };
    const std::vector<int64_t> net{kWidth, kWidth};
    holds(Model<GCNConv>(kWidth, kWidth), weight);
    holds(Model<GraphConv>(kWidth, kWidth), weight);
    holds(Model<TAGConv>(kWidth, kWidth), weight);
    holds(Model<ChebConv>(kWidth, kWidth, 3), ChebConvCall{weight, {}});
    holds(Model<GINEConv<>>(kWidth, GINEConvOptions{.edge_dim = 2}, net), attr);
    holds(Model<GATConv>(kWidth, 16, GATConvOptions{.heads = 4, .edge_dim = 2}), attr);
    holds(Model<GATv2Conv>(kWidth, 16, GATv2ConvOptions{.heads = 4, .edge_dim = 2}), attr);
    holds(Model<TransformerConv>(kWidth, 16, TransformerConvOptions{.heads = 4, .edge_dim = 2}), attr);
    holds(Model<AGNNConv>());
    holds(Model<PNAConv>(kWidth, kWidth, PNAConv::degree_histogram(graph)));
  });
}
