// Every layer with its options against PyG's: outputs and gradients of inputs, edge weights, edge features
// and parameters, from the state of PyG's layer.
#include "../reference/pyg_case.h"
#include "layers.h"

using namespace adj;
using namespace adj::test;

namespace {

const std::vector<int64_t> kNetwork{4, 6, 5};  // of GINConv and GINEConv

/// The layer's output for the inputs of a case: nodes of one set or of two, with the edge values it has.
template <class Layer>
Var output(Layer& layer, PygCase& ref) {
  if (ref.has("in/x_src")) {
    const nn::Sides x{ref.in("x_src"), ref.in("x_dst")};
    if constexpr (std::is_invocable_v<Layer&, const Relation&, const nn::Sides&, const Var&>)
      return layer(ref.relation(), x, ref.in("extra"));
    else if constexpr (std::is_invocable_v<Layer&, const Relation&, const nn::Sides&>)
      return layer(ref.relation(), x);
  }
  const Graph graph = ref.graph();
  const Var x = ref.in("x"),
            edge = ref.of_edges(ref.has("in/edge_attr") ? "edge_attr" : "edge_weight", graph);
  if constexpr (std::is_same_v<Layer, nn::Model<nn::GCN2Conv>>)
    return layer(graph, x, ref.in("x_0"), edge);
  else if constexpr (std::is_invocable_v<Layer&, const Graph&, const Var&, const Var&>)
    return layer(graph, x, edge);
  else
    return layer(graph, x);
}

/// Edge weights of the graph itself, and features without gradients: summed each time, then from the cache.
template <class Layer>
void check_weighted_graph(Layer& layer, PygCase& ref) {
  const Graph graph = ref.graph(),
              weighted = graph.with_edge_weight(ref.of_edges("edge_weight", graph).value());
  const Var x = Var::parameter(ref("in/x"));
  const Var y = layer(weighted, x);
  CHECK(close(y.value(), ref("y"), 1e-5));
  y.backward(ref("dy"));
  CHECK(close(x.grad(), ref("d/x"), 1e-5));
  for (int i = 0; i < 3; ++i) CHECK(close(layer(weighted, x.detach()).value(), ref("y"), 1e-5));
}

/// A layer constructed from `args`, on every device.
template <class Layer, class... Args>
void compare(const std::string& group, const Args&... args) {
  on_devices(group, [&](PygCase& ref) {
    nn::Model<Layer> layer(args...);
    // torch.nn.Sequential(Linear, ReLU, Linear), as the generator's network().
    std::map<std::string, std::string> names;
    if constexpr (requires { layer.nn; }) names = {{"nn.lins.0", "nn.0"}, {"nn.lins.1", "nn.2"}};
    ref.load(layer, names);
    ref.compare(layer, output(layer, ref), names);
    if constexpr (std::is_invocable_v<nn::Model<Layer>&, const Graph&, const Var&>)
      if (ref.has("in/edge_weight")) check_weighted_graph(layer, ref);
  });
}

/// Over all rows, and over those of each graph of the generator's batch: 7, 1, none and 12 rows.
template <class Norm>
void compare_norm(const std::string& group, Norm&& norm) {
  for (bool batched : {false, true})
    on_devices(group + (batched ? "_batch" : ""), [&](PygCase& ref) {
      const Var x = ref.in("x");
      const Tensor offsets = Tensor::from(std::vector<int64_t>{0, 7, 8, 8, 20}, x.device());
      ref.load(norm);
      ref.compare(norm, norm(x, batched ? offsets : Tensor()));
    });
}

}  // namespace

TEST_CASE("GraphConv and its gradients equal PyG's") {
  const auto run = compare<nn::GraphConv, nn::Widths, int64_t, nn::GraphConvOptions>;
  for (const auto& [group, aggr] : {std::pair<std::string, Reduce>{"graph_conv/add", Reduce::sum},
                                    {"graph_conv/mean", Reduce::mean},
                                    {"graph_conv/max", Reduce::max}}) {
    run(group, 4, 6, {aggr});
    run(group + "_wide", 6, 4, {aggr, false});
    run(group + "_bipartite", {4, 3}, 5, {aggr});
    run(group + "_weighted", 4, 6, {aggr});
    run(group + "_weighted_wide", 6, 4, {aggr});
  }
  run("graph_conv/rootless", {6, 3}, 5, {});
}

TEST_CASE("GINConv and its gradients equal PyG's") {
  const auto run = compare<nn::GINConv<>, nn::GINConvOptions, std::vector<int64_t>>;
  run("gin/fixed", {}, kNetwork);  // eps comes with the state
  run("gin/learned", {.train_eps = true}, kNetwork);
  run("gin/bipartite", {}, kNetwork);
}

TEST_CASE("GINEConv and its gradients equal PyG's") {
  const auto run = compare<nn::GINEConv<>, int64_t, nn::GINEConvOptions, std::vector<int64_t>>;
  run("gine/mapped", 4, {.edge_dim = 3}, kNetwork);
  run("gine/wide_edges", 4, {.train_eps = true, .edge_dim = 11}, kNetwork);
  run("gine/plain", 4, {}, kNetwork);
  run("gine/bipartite", 4, {.edge_dim = 2}, kNetwork);
}

TEST_CASE("GCNConv's options and the gradient of its edge weights equal PyG's") {
  const auto run = compare<nn::GCNConv, int64_t, int64_t, nn::GCNConvOptions>;
  run("gcn_options/improved", 3, 5, {.improved = true});
  run("gcn_options/no_loops", 5, 3, {.add_self_loops = false});
  run("gcn_options/not_normalized", 3, 5, {.normalize = false});
  run("gcn_options/weighted", 3, 5, {});
  run("gcn_options/weighted_loops", 5, 3, {});
  run("gcn_options/weighted_improved", 3, 5, {.improved = true, .bias = false});
  run("gcn_options/weighted_not_normalized", 5, 3, {.normalize = false});
}

TEST_CASE("SGConv's options and the gradient of its edge weights equal PyG's") {
  const auto run = compare<nn::SGConv, int64_t, int64_t, nn::SGConvOptions>;
  run("sg/one", 4, 6, {});
  run("sg/no_loops", 6, 4, {3, true, false});
  run("sg/weighted", 4, 6, {2});
}

TEST_CASE("APPNP and its gradients equal PyG's") {
  const auto run = compare<nn::APPNP, int, double, nn::APPNPOptions>;
  run("appnp/plain", 3, 0.1, {});
  run("appnp/weighted", 2, 0.25, {.add_self_loops = false});
  run("appnp/not_normalized", 2, 0.25, {.normalize = false});
}

TEST_CASE("GCN2Conv and its gradients equal PyG's") {
  const auto run = compare<nn::GCN2Conv, int64_t, double, nn::GCN2ConvOptions>;
  run("gcn2/plain", 5, 0.1, {});
  run("gcn2/shared", 5, 0.2, {.theta = 0.5, .layer = 3});
  run("gcn2/unshared", 5, 0.2, {.theta = 0.5, .layer = 2, .shared_weights = false});
  run("gcn2/not_normalized", 5, 0.2, {.add_self_loops = false, .normalize = false});
}

TEST_CASE("ChebConv and its gradients equal PyG's") {
  const auto run = [](const std::string& name, int64_t in, int64_t out, int K,
                      const nn::ChebConvOptions& options, std::optional<double> lambda_max = {}) {
    on_devices("cheb/" + name, [&](PygCase& ref) {
      nn::Model<nn::ChebConv> layer(in, out, K, options);
      ref.load(layer);
      const Graph graph = ref.graph();
      ref.compare(layer, layer(graph, ref.in("x"), {ref.of_edges("edge_weight", graph), lambda_max}));
      if (ref.has("in/edge_weight") && !lambda_max) check_weighted_graph(layer, ref);
    });
  };
  for (const auto& [name, kind] : {std::pair<std::string, nn::Laplacian>{"sym", nn::Laplacian::symmetric},
                                   {"rw", nn::Laplacian::random_walk},
                                   {"plain", nn::Laplacian::plain}}) {
    run(name, 3, 5, 3, {kind});
    run(name + "_wide", 5, 3, 4, {kind});
    run(name + "_weighted", 5, 3, 3, {kind});
    run(name + "_lambda", 3, 5, 3, {kind, false}, 1.5);
  }
  run("one", 3, 5, 1, {});
  run("two", 5, 3, 2, {});
}

TEST_CASE("SAGEConv and its gradients equal PyG's") {
  const auto run = compare<nn::SAGEConv, nn::Widths, int64_t, nn::SAGEConvOptions>;
  for (Reduce aggr : {Reduce::mean, Reduce::max, Reduce::sum}) {
    const std::string group = "sage/" + std::string(name_of(aggr));
    run(group, 4, 6, {.aggr = aggr});
    run(group + "_wide", 6, 4, {.aggr = aggr, .bias = false});
  }
  run("sage/normalized", 4, 6, {.normalize = true});
  run("sage/rootless", 4, 6, {.root_weight = false});
  run("sage/pool", 4, 6, {.aggr = Reduce::max, .project = true});
  run("sage/bipartite", {5, 3}, 4, {});
}

TEST_CASE("TAGConv and its gradients equal PyG's") {
  const auto run = compare<nn::TAGConv, int64_t, int64_t, nn::TAGConvOptions>;
  run("tag/plain", 3, 5, {});
  run("tag/wide", 5, 3, {2});
  run("tag/weighted", 5, 3, {2, false});
  run("tag/not_normalized", 3, 5, {2, true, false});
  run("tag/zero", 5, 3, {0});
}

TEST_CASE("PNAConv and its gradients equal PyG's") {
  const auto run = [](const std::string& file, const std::string& name, int64_t in, int64_t out,
                      const nn::PNAConvOptions& options) {
    on_devices(
        "pna/" + name,
        [&](PygCase& ref) {
          const Tensor degrees = ref("degrees").to(DType::i64);
          nn::Model<nn::PNAConv> layer(in, out, degrees.to_vector<int64_t>(), options);
          ref.load(layer);
          ref.compare(layer, layer(ref.graph(), ref.in("x")));
          if (file == "pyg_pna.h5")
            CHECK(nn::PNAConv::degree_histogram(ref.graph()) == degrees.to_vector<int64_t>());
        },
        file);
  };
  using enum Reduce;
  using enum nn::Scaler;
  run("pyg_layers.h5", "plain", 4, 6, {});
  run("pyg_layers.h5", "towers", 4, 6,
      {.aggregators = {mean, min, max, std, sum, var},
       .scalers = {identity, linear, inverse_linear},
       .towers = 2});
  run("pyg_layers.h5", "divided", 4, 6,
      {.aggregators = {mean, max},
       .scalers = {identity, amplification},
       .towers = 2,
       .post_layers = 2,
       .divide_input = true,
       .train_norm = true});
  run("pyg_pna.h5", "plain", 4, 6, {});
  run("pyg_pna.h5", "every", 3, 4,
      {.aggregators = {sum, mean, min, max, var, std},
       .scalers = {identity, amplification, attenuation, linear, inverse_linear}});
  run("pyg_pna.h5", "towers", 4, 6, {.towers = 2, .post_layers = 2});
  run("pyg_pna.h5", "divided", 4, 6, {.scalers = {linear, identity}, .towers = 2, .divide_input = true});
  run("pyg_pna.h5", "trained", 4, 6,
      {.aggregators = {sum, std}, .scalers = {attenuation, inverse_linear}, .train_norm = true});
}

TEST_CASE("reductions over neighbours and their gradients equal PyG's aggregations") {
  const auto run = [](const std::string& name, const std::vector<Reduce>& reduce) {
    on_devices(
        "aggr/" + name,
        [&](PygCase& ref) {
          const Var y = aggregate_all(ref.graph(), ref.in("x"), reduce);
          CHECK(close(y.value(), ref("y"), 1e-5));
          y.backward(ref("dy"));
          CHECK(close(ref.in("x").grad(), ref("d/x"), 1e-5));
        },
        "pyg_pna.h5");
  };
  using enum Reduce;
  for (Reduce reduce : {sum, mean, max, min, var, std}) run(std::string(name_of(reduce)), {reduce});
  run("several", {std, max, sum, var, min, mean});
}

TEST_CASE("GATConv and its gradients equal PyG's") {
  const auto run = compare<nn::GATConv, nn::Widths, int64_t, nn::GATConvOptions>;
  run("gat/one_head", 5, 4, {});
  run("gat/heads", 5, 4, {.heads = 3, .residual = true});
  run("gat/mean", 5, 4, {.heads = 2, .concat = false, .negative_slope = 0.05f, .bias = false});
  run("gat/no_loops", 5, 4, {.heads = 2, .add_self_loops = false});
  run("gat/two_maps", {5, 5}, 4, {.heads = 2});
  run("gat/edges_mean", 5, 4, {.heads = 2, .edge_dim = 3});
  run("gat/edges_sum", 5, 4, {.heads = 2, .edge_dim = 2, .fill_value = nn::LoopFill::Kind::sum});
  run("gat/edges_constant", 5, 4, {.heads = 2, .edge_dim = 1, .fill_value = 0.5});
  run("gat/edges_no_loops", 5, 4,
      {.concat = false, .add_self_loops = false, .edge_dim = 3, .residual = true});
  run("gat/bipartite", {5, 3}, 4, {.heads = 2, .add_self_loops = false, .residual = true});
  run("gat/bipartite_edges", {5, 3}, 4, {.heads = 2, .add_self_loops = false, .edge_dim = 2});
  run("gat/bipartite_loops", {5, 3}, 4, {.edge_dim = 2});
}

TEST_CASE("GATv2Conv and its gradients equal PyG's") {
  const auto run = compare<nn::GATv2Conv, nn::Widths, int64_t, nn::GATv2ConvOptions>;
  run("gatv2/one_head", 5, 4, {});
  run("gatv2/heads", 5, 4, {.heads = 3, .residual = true});
  run("gatv2/mean", 5, 4, {.heads = 2, .concat = false, .negative_slope = 0.05f, .bias = false});
  run("gatv2/no_loops", 5, 4, {.heads = 2, .add_self_loops = false});
  run("gatv2/shared", 5, 4, {.heads = 2, .share_weights = true});
  run("gatv2/edges_mean", 5, 4, {.heads = 2, .edge_dim = 3});
  run("gatv2/edges_constant", 5, 4, {.heads = 2, .edge_dim = 1, .fill_value = 0.5});
  run("gatv2/bipartite", {5, 3}, 4, {.heads = 2, .add_self_loops = false, .residual = true});
  run("gatv2/bipartite_loops", {5, 3}, 4, {.heads = 2, .edge_dim = 2});
}

TEST_CASE("TransformerConv and its gradients equal PyG's") {
  const auto run = compare<nn::TransformerConv, nn::Widths, int64_t, nn::TransformerConvOptions>;
  run("transformer/one_head", 5, 4, {});
  run("transformer/heads", 5, 4, {.heads = 3});
  run("transformer/mean", 5, 4, {.heads = 2, .concat = false, .bias = false});
  run("transformer/rootless", 5, 4, {.heads = 2, .beta = true, .root_weight = false});
  run("transformer/gate", 5, 4, {.heads = 2, .beta = true});
  run("transformer/gate_mean", 5, 4, {.heads = 2, .concat = false, .beta = true});
  run("transformer/edges", 5, 4, {.heads = 2, .edge_dim = 3});
  run("transformer/edges_gate", 5, 4, {.heads = 2, .beta = true, .edge_dim = 1});
  run("transformer/bipartite", {5, 3}, 4, {.heads = 2, .edge_dim = 2});
}

TEST_CASE("AGNNConv and its gradients equal PyG's") {
  const auto run = compare<nn::AGNNConv, nn::AGNNConvOptions>;
  run("agnn/learned", {true, true});
  run("agnn/fixed", {false, true});
  run("agnn/no_loops", {true, false});
}

TEST_CASE("PairNorm, GraphNorm and their gradients equal PyG's") {
  compare_norm("pair_norm/plain", nn::Model<nn::PairNorm>());
  compare_norm("pair_norm/scaled", nn::Model<nn::PairNorm>(nn::PairNormOptions{.scale = 2.5}));
  compare_norm("pair_norm/individually",
               nn::Model<nn::PairNorm>(nn::PairNormOptions{.scale = 0.5, .scale_individually = true}));
  compare_norm("graph_norm", nn::Model<nn::GraphNorm>(5));
}

TEST_CASE("jumping knowledge and its gradients equal PyG's") {
  const auto run = [](const std::string& name, nn::Jump mode, int64_t channels, int64_t layers) {
    on_devices("jumping_knowledge/" + name, [&](PygCase& ref) {
      nn::Model<nn::JumpingKnowledge> layer(mode, {.channels = channels, .num_layers = layers});
      if (mode == nn::Jump::lstm) ref.load(layer);
      ref.compare(layer, layer({ref.in("a"), ref.in("b"), ref.in("c")}));
    });
  };
  run("cat", nn::Jump::cat, 0, 0);
  run("max", nn::Jump::max, 0, 0);
  run("lstm", nn::Jump::lstm, 3, 3);
  run("lstm_even", nn::Jump::lstm, 6, 3);
}
