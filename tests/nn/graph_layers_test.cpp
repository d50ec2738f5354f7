// Layers on their own: gradients in float64 for every option, memory, initial values, errors. Their values
// are compared with PyG's in pyg_layers_test.cpp.
#include "../captures.h"
#include "../reference/module_gradients.h"
#include "layers.h"
#include "module_state.h"
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 9;

/// Directed, with parallel edges, loops and a node without edges.
Graph looped_graph(Draw& draw, Device device) {
  const Graph drawn = draw.graph(kNodes, 18);
  auto src = drawn.edge_index().src.to_vector<int32_t>(), dst = drawn.edge_index().dst.to_vector<int32_t>();
  for (int32_t loop : {0, 3, 3}) {
    src.push_back(loop);
    dst.push_back(loop);
  }
  return Graph::from_coo(kNodes, Tensor::from(src, device), Tensor::from(dst, device));
}

/// f(draw, graph) on every device.
template <class F>
void on_graphs(uint64_t seed, F&& f) {
  on_devices(seed, DType::f64, [&](Draw& draw, Device device) { f(draw, looped_graph(draw, device)); });
}

}  // namespace

TEST_CASE("gradients of layers that aggregate, by features, parameters and edge weights") {
  on_graphs(330, [](Draw& draw, const Graph& graph) {
    const Tensor x = draw.normal({kNodes, 3}), wide = draw.normal({kNodes, 5}),
                 x_0 = draw.normal({kNodes, 5});
    const Tensor weight = draw.uniform({graph.num_edges()}, 0.3, 2.0);
    for (const Tensor& w : {Tensor(), weight}) {
      CAPTURE(static_cast<bool>(w));
      for (Reduce aggr : {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min}) {
        check_layer(nn::Model<nn::GraphConv>(3, 4, nn::GraphConvOptions{aggr}), graph, x, w);
        check_layer(nn::Model<nn::GraphConv>(5, 4, nn::GraphConvOptions{aggr, false}), graph, wide, w);
      }
      for (bool improved : {false, true})
        check_layer(nn::Model<nn::GCNConv>(3, 4, nn::GCNConvOptions{.improved = improved}), graph, x, w);
      check_layer(nn::Model<nn::GCNConv>(5, 4, nn::GCNConvOptions{.add_self_loops = false}), graph, wide, w);
      check_layer(nn::Model<nn::GCNConv>(5, 4, nn::GCNConvOptions{.normalize = false}), graph, wide, w);
      check_layer(nn::Model<nn::SGConv>(3, 4, nn::SGConvOptions{2}), graph, x, w);
      check_layer(nn::Model<nn::SGConv>(5, 4, nn::SGConvOptions{2, false, false}), graph, wide, w);
      check_layer(nn::Model<nn::APPNP>(3, 0.2), graph, x, w);
      check_layer(nn::Model<nn::TAGConv>(3, 4), graph, x, w);
      check_layer(nn::Model<nn::TAGConv>(5, 4, nn::TAGConvOptions{2, false, false}), graph, wide, w);
      for (bool shared : {true, false})
        check_call(nn::Model<nn::GCN2Conv>(
                       5, 0.2, nn::GCN2ConvOptions{.theta = 0.5, .layer = 2, .shared_weights = shared}),
                   {wide, x_0, w},
                   [&](auto& layer, const auto& v) { return layer(graph, v[0], v[1], v[2]); });
      for (nn::Laplacian kind : {nn::Laplacian::plain, nn::Laplacian::symmetric, nn::Laplacian::random_walk})
        for (const auto& [in, features] : {std::pair<int64_t, Tensor>{3, x}, {5, wide}})
          for (std::optional<double> lambda : {std::optional<double>(), std::optional(1.7)})
            check_call(nn::Model<nn::ChebConv>(in, 4, 3, nn::ChebConvOptions{kind}), {features, w},
                       [&](auto& layer, const auto& v) {
                         return layer(graph, v[0], nn::ChebConvCall{v[1], lambda});
                       });
    }
    const Graph weighted = graph.with_edge_weight(weight.to(DType::f32));
    for (const auto& [in, features] : {std::pair<int64_t, Tensor>{3, x}, {5, wide}}) {
      check_layer(nn::Model<nn::GCNConv>(in, 4), weighted, features);
      check_layer(nn::Model<nn::SGConv>(in, 4, nn::SGConvOptions{2}), weighted, features);
    }
  });
}

TEST_CASE("gradients of GINConv and GINEConv") {
  on_graphs(331, [](Draw& draw, const Graph& graph) {
    const std::vector<int64_t> net{4, 6, 3};
    const Tensor x = draw.normal({kNodes, 4});
    const int64_t edges = graph.num_edges();
    for (bool train_eps : {false, true}) {
      check_layer(nn::Model<nn::GINConv<>>(nn::GINConvOptions{0.3, train_eps}, net), graph, x);
      check_layer(nn::Model<nn::GINEConv<>>(4, nn::GINEConvOptions{0.3, train_eps, 2}, net), graph, x,
                  draw.normal({edges, 2}));
      check_layer(nn::Model<nn::GINEConv<>>(4, nn::GINEConvOptions{0.3, train_eps}, net), graph, x,
                  draw.normal({edges, 4}));
    }
  });
}

TEST_CASE("gradients of attention layers") {
  on_graphs(332, [](Draw& draw, const Graph& graph) {
    const Tensor x = draw.normal({kNodes, 3});
    const int64_t edges = graph.num_edges();
    for (int64_t edge_dim : {0, 2}) {
      const Tensor attr = edge_dim > 0 ? draw.normal({edges, edge_dim}) : Tensor();
      const std::optional<int64_t> width = edge_dim > 0 ? std::optional(edge_dim) : std::nullopt;
      for (bool concat : {true, false})
        for (bool loops : {true, false}) {
          CAPTURES(concat, loops);
          nn::GATConvOptions gat{.heads = 2, .concat = concat, .add_self_loops = loops, .edge_dim = width};
          nn::GATv2ConvOptions gatv2{
              .heads = 2, .concat = concat, .add_self_loops = loops, .edge_dim = width};
          gat.residual = gatv2.residual = !concat;
          gatv2.share_weights = loops;
          check_layer(nn::Model<nn::GATConv>(3, 4, gat), graph, x, attr);
          check_layer(nn::Model<nn::GATv2Conv>(3, 4, gatv2), graph, x, attr);
          const nn::TransformerConvOptions dot{
              .heads = 2, .concat = concat, .beta = loops, .edge_dim = width};
          check_layer(nn::Model<nn::TransformerConv>(3, 4, dot), graph, x, attr);
        }
    }
    for (nn::LoopFill fill : {nn::LoopFill(nn::LoopFill::Kind::sum), nn::LoopFill(0.5)})
      check_layer(nn::Model<nn::GATConv>(3, 4, nn::GATConvOptions{.edge_dim = 2, .fill_value = fill}), graph,
                  x, draw.normal({edges, 2}));
    for (bool loops : {true, false})
      check_layer(nn::Model<nn::AGNNConv>(nn::AGNNConvOptions{true, loops}), graph, x);
  });
}

TEST_CASE("gradients of layers between two sets of nodes") {
  on_devices(333, DType::f64, [&](Draw& draw, Device) {
    const Relation relation = Relation::from_coo(7, 5, draw.ints(16, 0, 7), draw.ints(16, 0, 4));
    const Tensor src = draw.normal({7, 4}), dst = draw.normal({5, 3}), same = draw.normal({5, 4});
    const Tensor weight = draw.uniform({16}, 0.3, 2.0), attr = draw.normal({16, 2});
    const auto check_sides = [&](auto&& layer, const Tensor& targets, const Tensor& edges) {
      check_call(layer, {src, targets, edges}, [&](auto& l, const auto& v) {
        return l(relation, nn::Sides{v[0], v[1]}, v[2]);
      });
    };
    const nn::Widths in(4, 3);
    check_sides(nn::Model<nn::GraphConv>(in, 5), dst, weight);
    check_sides(nn::Model<nn::GraphConv>(in, 2), dst, weight);
    check_sides(nn::Model<nn::GATConv>(in, 2, nn::GATConvOptions{.heads = 2, .edge_dim = 2}), dst, attr);
    check_sides(nn::Model<nn::GATv2Conv>(in, 2, nn::GATv2ConvOptions{.heads = 2, .edge_dim = 2}), dst, attr);
    check_sides(nn::Model<nn::TransformerConv>(in, 2, nn::TransformerConvOptions{.heads = 2}), dst, {});
    check_sides(nn::Model<nn::GINEConv<>>(4, nn::GINEConvOptions{.edge_dim = 2}, std::vector<int64_t>{4, 3}),
                same, attr);
  });
}

TEST_CASE("gradients of PairNorm, GraphNorm and jumping knowledge") {
  on_devices(334, DType::f64, [&](Draw& draw, Device device) {
    const Tensor x = draw.normal({kNodes, 3}), y = draw.normal({kNodes, 3}), z = draw.normal({kNodes, 3});
    for (const Tensor& batch : {Tensor(), Tensor::from(std::vector<int64_t>{0, 4, 4, 9}, device)}) {
      const auto call = [&](auto& norm, const auto& v) { return norm(v[0], batch); };
      for (bool individually : {false, true})
        check_call(
            nn::Model<nn::PairNorm>(nn::PairNormOptions{.scale = 1.5, .scale_individually = individually}),
            {x}, call);
      check_call(nn::Model<nn::GraphNorm>(3), {x}, call);
    }
    const auto call = [](auto& jump, const auto& v) { return jump(v); };
    for (nn::Jump mode : {nn::Jump::cat, nn::Jump::max})
      check_call(nn::Model<nn::JumpingKnowledge>(mode), {x, y}, call);
    check_call(nn::Model<nn::JumpingKnowledge>(nn::Jump::lstm, {.channels = 3, .num_layers = 3}), {x, y, z},
               call);
  });
}

TEST_CASE("jumping knowledge refuses layers that do not fit") {
  using enum nn::Jump;
  const Var three = Tensor::zeros({2, 3}), four = Tensor::zeros({2, 4});
  CHECK_THROWS_AS(nn::jumping_knowledge(cat, {}), Error);
  CHECK_ERROR_HAS(nn::jumping_knowledge(max, {three, four}), "[2, 4]");
  CHECK_ERROR_HAS(nn::jumping_knowledge(lstm, {three}), "nn::JumpingKnowledge");
  CHECK_ERROR_HAS(nn::Model<nn::JumpingKnowledge>(lstm, {.num_layers = 0}), "0 layers of 0");
  const nn::Model<nn::JumpingKnowledge> jump(lstm, {.channels = 3, .num_layers = 2});
  CHECK_ERROR_HAS(jump({three, four}), "LSTM: steps [2, 3] and [2, 4], expected [N, 3]");
}

TEST_CASE("an LSTM's output at a step has a half from earlier steps and a half from later ones") {
  on_devices(341, DType::f32, [&](Draw& draw, Device device) {
    nn::Model<nn::LSTM> lstm(4, 5);
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
    nn::Model<nn::JumpingKnowledge> jump(nn::Jump::lstm, {.channels = 4, .num_layers = 3});
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
        nn::Model<nn::GINConv<>> layer(nn::GINConvOptions{0.3, train_eps}, widths);
        layer.to(device);
        const auto expected = pass(layer, graph, Var(dense)), found = pass(layer, graph, Features(sparse));
        REQUIRE(found.size() == expected.size());
        for (size_t k = 0; k < found.size(); ++k) {
          CAPTURE(k);
          CHECK(close(found[k], expected[k], 1e-4));
        }
        const auto step = [&] { (void)pass(layer, graph, Features(sparse)); };
        CHECK(peak_memory(device, step) < dense.bytes() / 4);
        // Dropout before the network is of the sums.
        nn::Model<nn::GINConv<>> dropping(nn::GINConvOptions{0.3, train_eps}, widths,
                                          nn::MLPOptions{.dropout = 0.5f});
        dropping.to(device);
        manual_seed(9);
        const Tensor of_dense = dropping(graph, Var(dense)).value();
        manual_seed(9);
        CHECK(same_bits(dropping(graph, Features(sparse)).value(), of_dense));
      }
  });
}

TEST_CASE("layers with dropout draw by the seed, and in training mode only") {
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
    holds(nn::Model<nn::APPNP>(3, 0.1, nn::APPNPOptions{.dropout = 0.5f}));
    holds(nn::Model<nn::APPNP>(3, 0.1, nn::APPNPOptions{.dropout = 0.5f}), Var(weight));
    holds(nn::Model<nn::GATConv>(4, 4, nn::GATConvOptions{.dropout = 0.5f}));
    holds(nn::Model<nn::GATv2Conv>(4, 4, nn::GATv2ConvOptions{.dropout = 0.5f}));
    holds(nn::Model<nn::TransformerConv>(4, 4, nn::TransformerConvOptions{.dropout = 0.5f}));
  });
  // The mean over masks is the result without dropout: the scale is right.
  Draw draw(337, {}, DType::f32);
  const Graph graph = draw.graph(10, 40);
  const Tensor x = draw.uniform({10, 3}, 0.5, 1.5);
  nn::Model<nn::APPNP> layer(1, 0.1, nn::APPNPOptions{.dropout = 0.5f});
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
  const auto within = [](const std::vector<Var>& parameters, double bound) {
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
  nn::Model<nn::Linear> linear(40, 30), torch(40, 30, nn::LinearOptions{.initial = nn::Initial::fan_in});
  within({linear.weight}, glorot(40, 30));
  zero(linear.bias);
  within({torch.weight, torch.bias}, fan_in(40));
  nn::Model<nn::GCNConv> gcn(40, 30);
  within({gcn.weight}, glorot(40, 30));
  zero(gcn.bias);
  nn::Model<nn::SGConv> sg(40, 30);
  within({sg.weight, sg.bias}, fan_in(40));
  nn::Model<nn::SAGEConv> sage(nn::Widths{50, 30}, 20,
                               nn::SAGEConvOptions{.aggr = Reduce::max, .project = true});
  within({sage.lin->weight, sage.lin->bias, sage.lin_l.weight, sage.lin_l.bias}, fan_in(50));
  within({sage.lin_r->weight}, fan_in(30));
  CHECK(sage.describe() == "SAGEConv(50 -> 20, max of projected neighbours)");
  nn::Model<nn::GraphConv> graph_conv(40, 30);
  within({graph_conv.lin_rel.weight, graph_conv.lin_rel.bias, graph_conv.lin_root.weight}, fan_in(40));
  CHECK(!graph_conv.lin_root.bias);
  nn::Model<nn::JumpingKnowledge> jump(nn::Jump::lstm, {.channels = 20, .num_layers = 3});
  for (const nn::LSTM::Direction* lstm : {&jump.lstm->forward, &jump.lstm->reverse})
    within({lstm->weight_ih, lstm->weight_hh, lstm->bias_ih, lstm->bias_hh}, fan_in(30));
  within({jump.att->weight}, fan_in(60));
  CHECK(nn::Model<nn::JumpingKnowledge>(nn::Jump::max).parameters().empty());
  nn::Model<nn::TAGConv> tag(40, 30);
  CHECK(tag.lins.size() == 4);
  within({tag.lins[3].weight}, fan_in(40));
  zero(tag.bias);
  nn::Model<nn::ChebConv> cheb(40, 30, 2);
  within({cheb.lins[1].weight}, glorot(40, 30));
  zero(cheb.bias);
  nn::Model<nn::GCN2Conv> gcn2(40, 0.1, nn::GCN2ConvOptions{.shared_weights = false});
  within({gcn2.weight1, gcn2.weight2}, glorot(40, 40));
  nn::Model<nn::GINEConv<>> gine(40, nn::GINEConvOptions{.edge_dim = 30}, std::vector<int64_t>{40, 3});
  within({gine.lin->weight}, fan_in(30));
  nn::Model<nn::GATConv> gat(40, 30, nn::GATConvOptions{.heads = 4, .edge_dim = 20, .residual = true});
  within({gat.lin->weight, gat.res->weight}, glorot(40, 120));
  within({gat.lin_edge->weight}, glorot(20, 120));
  within({gat.att_src, gat.att_dst, gat.att_edge}, glorot(4, 30));
  zero(gat.bias);
  nn::Model<nn::GATv2Conv> gatv2(40, 30, nn::GATv2ConvOptions{.heads = 4});
  within({gatv2.lin_l.weight}, glorot(40, 120));
  within({gatv2.lin_r.bias}, fan_in(40));
  within({gatv2.att}, glorot(4, 30));
  zero(gatv2.bias);
  nn::Model<nn::TransformerConv> dot(40, 30, nn::TransformerConvOptions{.heads = 2, .beta = true});
  for (const nn::Linear& map : {std::cref<nn::Linear>(dot.lin_key), std::cref<nn::Linear>(dot.lin_query),
                                std::cref<nn::Linear>(dot.lin_value), std::cref<nn::Linear>(dot.lin_skip)})
    within({map.weight, map.bias}, fan_in(40));
  within({dot.lin_beta->weight}, fan_in(180));
  CHECK(nn::Model<nn::AGNNConv>().beta.item() == 1.0);
  CHECK(nn::Model<nn::AGNNConv>(nn::AGNNConvOptions{false}).parameters().empty());
}

TEST_CASE("layers refuse features, weights and options that do not fit") {
  Draw draw(338, {}, DType::f32);
  const Graph graph = draw.graph(kNodes, 20);
  const Tensor x = draw.normal({kNodes, 4}), few = draw.normal({8, 4}), attr = draw.normal({20, 2});
  const auto refuses = [&](auto&& layer, const char* part, const auto&... arguments) {
    CHECK_ERROR_HAS(layer(graph, arguments...), part);
  };
  refuses(nn::Model<nn::GraphConv>(4, 3), "[8, 4]", Var(few));
  refuses(nn::Model<nn::GraphConv>(4, 3), "[7]", Var(x), Var(draw.normal({7})));
  refuses(nn::Model<nn::GraphConv>(4, 3, nn::GraphConvOptions{Reduce::std}), "std", Var(x),
          Var(draw.normal({20})));
  refuses(nn::Model<nn::GraphConv>(4, 3, nn::GraphConvOptions{Reduce::max}), "dense",
          Features(draw.sparse(kNodes, 4, 9)));
  refuses(nn::Model<nn::GCNConv>(4, 3), "[7]", Var(x), Var(draw.normal({7})));
  refuses(nn::Model<nn::GCNConv>(4, 3), "features [8, 4] for a graph of 9 nodes", Var(few));
  refuses(nn::Model<nn::SGConv>(4, 3), "features [8, 4] for a graph of 9 nodes", Var(few));
  refuses(nn::Model<nn::GCNConv>(3, 3), "[9, 4]", Var(x));
  refuses(nn::Model<nn::SGConv>(3, 3), "[9, 4]", Var(x));
  refuses(nn::Model<nn::ChebConv>(4, 3, 2), "[7]", Var(x), nn::ChebConvCall{Var(draw.normal({7})), {}});
  refuses(nn::Model<nn::ChebConv>(4, 3, 2), "lambda_max", Var(x), nn::ChebConvCall{{}, -1.0});
  refuses(nn::Model<nn::GCN2Conv>(4, 0.1), "[9, 3]", Var(x), Var(draw.normal({kNodes, 3})));
  refuses(nn::Model<nn::GINConv<>>(nn::GINConvOptions{}, std::vector<int64_t>{4, 3}), "[8, 4]", Var(few));
  const std::vector<int64_t> net{4, 3};
  refuses(nn::Model<nn::GINEConv<>>(4, nn::GINEConvOptions{}, net), "edge_dim", Var(x), Var(attr));
  refuses(nn::Model<nn::GINEConv<>>(4, nn::GINEConvOptions{.edge_dim = 3}, net), "[20, 3]", Var(x),
          Var(attr));
  refuses(nn::Model<nn::GATConv>(4, 3), "edge_dim", Var(x), Var(attr));
  refuses(nn::Model<nn::GATConv>(4, 3, nn::GATConvOptions{.edge_dim = 2}), "absent", Var(x));
  refuses(nn::Model<nn::GATConv>(4, 3, nn::GATConvOptions{.edge_dim = 3}), "[20, 3]", Var(x), Var(attr));
  refuses(nn::Model<nn::GATv2Conv>(4, 3), "[8, 4]", Var(few));
  refuses(nn::Model<nn::TransformerConv>(4, 3), "[8, 4]", Var(few));
  refuses(nn::Model<nn::AGNNConv>(), "[8, 4]", Var(few));
  CHECK_THROWS_AS(
      nn::Model<nn::GCNConv>(4, 3, nn::GCNConvOptions{.add_self_loops = true, .normalize = false}), Error);
  CHECK_THROWS_AS(nn::Model<nn::GCN2Conv>(4, 0.1, nn::GCN2ConvOptions{.theta = 0.5}), Error);
  CHECK_THROWS_AS(nn::Model<nn::SGConv>(3, 4, nn::SGConvOptions{0}), Error);
  CHECK_THROWS_AS(nn::Model<nn::APPNP>(0, 0.1), Error);
  CHECK_THROWS_AS(nn::Model<nn::APPNP>(2, 1.5), Error);
  CHECK_THROWS_AS(nn::Model<nn::APPNP>(2, 0.5, nn::APPNPOptions{.dropout = 1.0f}), Error);
  CHECK_THROWS_AS(nn::Model<nn::ChebConv>(4, 3, 0), Error);
  CHECK_THROWS_AS(nn::Model<nn::GATConv>(4, 3, nn::GATConvOptions{.heads = 0}), Error);
  CHECK_THROWS_AS(nn::Model<nn::GATv2Conv>(nn::Widths(4, 3), 3, nn::GATv2ConvOptions{.share_weights = true}),
                  Error);
}

TEST_CASE("a fixed ε may be loaded again") {
  on_devices(339, DType::f32, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(kNodes, 20);
    nn::Model<nn::GINConv<>> layer(nn::GINConvOptions{0.5}, std::vector<int64_t>{4, 4});
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

TEST_CASE("no layer allocates edges times features") {
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
    holds(nn::Model<nn::GCNConv>(kWidth, kWidth), weight);
    holds(nn::Model<nn::GraphConv>(kWidth, kWidth), weight);
    holds(nn::Model<nn::TAGConv>(kWidth, kWidth), weight);
    holds(nn::Model<nn::ChebConv>(kWidth, kWidth, 3), nn::ChebConvCall{weight, {}});
    holds(nn::Model<nn::GINEConv<>>(kWidth, nn::GINEConvOptions{.edge_dim = 2}, net), attr);
    holds(nn::Model<nn::GATConv>(kWidth, 16, nn::GATConvOptions{.heads = 4, .edge_dim = 2}), attr);
    holds(nn::Model<nn::GATv2Conv>(kWidth, 16, nn::GATv2ConvOptions{.heads = 4, .edge_dim = 2}), attr);
    holds(nn::Model<nn::TransformerConv>(kWidth, 16, nn::TransformerConvOptions{.heads = 4, .edge_dim = 2}),
          attr);
    holds(nn::Model<nn::AGNNConv>());
    holds(nn::Model<nn::PNAConv>(kWidth, kWidth, nn::PNAConv::degree_histogram(graph)));
  });
}
