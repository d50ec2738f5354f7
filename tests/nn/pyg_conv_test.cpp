// Every convolution and its options beside PyG's: outputs and gradients of inputs, edge weights, edge
// features and parameters, from the state that PyG's layer had.
#include "../reference/pyg_case.h"
#include <adjoint/nn/conv/appnp.h>
#include <adjoint/nn/conv/cheb_conv.h>
#include <adjoint/nn/conv/gcn2_conv.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/conv/gine_conv.h>
#include <adjoint/nn/conv/graph_conv.h>
#include <adjoint/nn/conv/pna_conv.h>
#include <adjoint/nn/conv/sage_conv.h>
#include <adjoint/nn/conv/sg_conv.h>
#include <adjoint/nn/conv/tag_conv.h>

using namespace adj;
using namespace adj::test;

namespace {

/// torch.nn.Sequential(Linear, ReLU, Linear), as the generator's network().
const std::map<std::string, std::string> kSequential{{"nn.lins.0", "nn.0"}, {"nn.lins.1", "nn.2"}};
const std::vector<int64_t> kNetwork{4, 6, 5};

/// A layer on a graph with x and, where the case has it, edge_weight, which may also be the graph's own.
template <class Layer>
void on_graph(Layer&& layer, PygCase& ref) {
  ref.load(layer);
  const Graph graph = ref.graph();
  const Var weight = ref.of_edges("edge_weight", graph);
  ref.compare(layer, layer(graph, ref.in("x"), weight));
  if (!weight) return;
  const Graph weighted = graph.with_edge_weight(weight.value());
  const Var x = Var::parameter(ref("in/x"));
  const Var y = layer(weighted, x);
  CHECK(close(y.value(), ref("y"), 1e-5));
  y.backward(ref("dy"));
  CHECK(close(x.grad(), ref("d/x"), 1e-5));
  for (int i = 0; i < 3; ++i) CHECK(close(layer(weighted, x.detach()).value(), ref("y"), 1e-5));
}

}  // namespace

TEST_CASE("GraphConv and its gradients equal PyG's") {
  for (const auto& [name, aggr] :
       {std::pair<std::string, Reduce>{"add", Reduce::sum}, {"mean", Reduce::mean}, {"max", Reduce::max}}) {
    const std::string group = "graph_conv/" + name;
    on_devices(group, [&](PygCase& ref) {
      on_graph(nn::Model<nn::GraphConv>(4, 6, nn::GraphConvOptions{aggr}), ref);
    });
    on_devices(group + "_wide", [&](PygCase& ref) {
      on_graph(nn::Model<nn::GraphConv>(6, 4, nn::GraphConvOptions{aggr, false}), ref);
    });
    on_devices(group + "_bipartite", [&](PygCase& ref) {
      nn::Model<nn::GraphConv> layer(nn::Widths(4, 3), 5, nn::GraphConvOptions{aggr});
      ref.load(layer);
      ref.compare(layer, layer(ref.relation(), {ref.in("x_src"), ref.in("x_dst")}, ref.in("extra")));
    });
    on_devices(group + "_weighted", [&](PygCase& ref) {
      on_graph(nn::Model<nn::GraphConv>(4, 6, nn::GraphConvOptions{aggr}), ref);
    });
    on_devices(group + "_weighted_wide", [&](PygCase& ref) {
      on_graph(nn::Model<nn::GraphConv>(6, 4, nn::GraphConvOptions{aggr}), ref);
    });
  }
  on_devices("graph_conv/rootless", [](PygCase& ref) {
    nn::Model<nn::GraphConv> layer(nn::Widths(6, 3), 5);
    ref.load(layer);
    ref.compare(layer, layer(ref.relation(), {ref.in("x_src"), {}}));
  });
}

TEST_CASE("GINConv and its gradients equal PyG's") {
  const auto fixed = [](PygCase& ref, const nn::GINConvOptions& options) {
    nn::Model<nn::GINConv<>> layer(options, kNetwork);
    ref.load(layer, kSequential);
    ref.compare(layer, layer(ref.graph(), ref.in("x")), kSequential);
  };
  on_devices("gin/fixed", [&](PygCase& ref) { fixed(ref, {}); });  // eps comes with the state
  on_devices("gin/learned", [&](PygCase& ref) { fixed(ref, {.train_eps = true}); });
  on_devices("gin/bipartite", [](PygCase& ref) {
    nn::Model<nn::GINConv<>> layer(nn::GINConvOptions{}, kNetwork);
    ref.load(layer, kSequential);
    ref.compare(layer, layer(ref.relation(), {ref.in("x_src"), ref.in("x_dst")}), kSequential);
  });
}

TEST_CASE("GINEConv and its gradients equal PyG's") {
  const auto run = [](PygCase& ref, const nn::GINEConvOptions& options) {
    nn::Model<nn::GINEConv<>> layer(4, options, kNetwork);
    ref.load(layer, kSequential);
    const Graph graph = ref.graph();
    ref.compare(layer, layer(graph, ref.in("x"), ref.of_edges("edge_attr", graph)), kSequential);
  };
  on_devices("gine/mapped", [&](PygCase& ref) { run(ref, {.edge_dim = 3}); });
  on_devices("gine/wide_edges", [&](PygCase& ref) { run(ref, {.train_eps = true, .edge_dim = 11}); });
  on_devices("gine/plain", [&](PygCase& ref) { run(ref, {}); });
  on_devices("gine/bipartite", [](PygCase& ref) {
    nn::Model<nn::GINEConv<>> layer(4, nn::GINEConvOptions{.edge_dim = 2}, kNetwork);
    ref.load(layer, kSequential);
    ref.compare(layer, layer(ref.relation(), {ref.in("x_src"), ref.in("x_dst")}, ref.in("extra")),
                kSequential);
  });
}

TEST_CASE("GCNConv's options and the gradient of its edge weights equal PyG's") {
  const auto run = [](const std::string& name, int64_t in, int64_t out, const nn::GCNConvOptions& options) {
    on_devices("gcn_options/" + name,
               [&](PygCase& ref) { on_graph(nn::Model<nn::GCNConv>(in, out, options), ref); });
  };
  run("improved", 3, 5, {.improved = true});
  run("no_loops", 5, 3, {.add_self_loops = false});
  run("not_normalized", 3, 5, {.normalize = false});
  run("weighted", 3, 5, {});
  run("weighted_loops", 5, 3, {});
  run("weighted_improved", 3, 5, {.improved = true, .bias = false});
  run("weighted_not_normalized", 5, 3, {.normalize = false});
}

TEST_CASE("SGConv's options and the gradient of its edge weights equal PyG's") {
  on_devices("sg/one", [](PygCase& ref) { on_graph(nn::Model<nn::SGConv>(4, 6), ref); });
  on_devices("sg/no_loops", [](PygCase& ref) {
    on_graph(nn::Model<nn::SGConv>(6, 4, nn::SGConvOptions{3, true, false}), ref);
  });
  on_devices("sg/weighted",
             [](PygCase& ref) { on_graph(nn::Model<nn::SGConv>(4, 6, nn::SGConvOptions{2}), ref); });
}

TEST_CASE("APPNP and its gradients equal PyG's") {
  on_devices("appnp/plain", [](PygCase& ref) { on_graph(nn::Model<nn::APPNP>(3, 0.1), ref); });
  on_devices("appnp/weighted", [](PygCase& ref) {
    on_graph(nn::Model<nn::APPNP>(2, 0.25, nn::APPNPOptions{.add_self_loops = false}), ref);
  });
  on_devices("appnp/not_normalized", [](PygCase& ref) {
    on_graph(nn::Model<nn::APPNP>(2, 0.25, nn::APPNPOptions{.normalize = false}), ref);
  });
}

TEST_CASE("GCN2Conv and its gradients equal PyG's") {
  const auto run = [](const std::string& name, double alpha, const nn::GCN2ConvOptions& options) {
    on_devices("gcn2/" + name, [&](PygCase& ref) {
      nn::Model<nn::GCN2Conv> layer(5, alpha, options);
      ref.load(layer);
      const Graph graph = ref.graph();
      ref.compare(layer, layer(graph, ref.in("x"), ref.in("x_0"), ref.of_edges("edge_weight", graph)));
    });
  };
  run("plain", 0.1, {});
  run("shared", 0.2, {.theta = 0.5, .layer = 3});
  run("unshared", 0.2, {.theta = 0.5, .layer = 2, .shared_weights = false});
  run("not_normalized", 0.2, {.add_self_loops = false, .normalize = false});
}

TEST_CASE("ChebConv and its gradients equal PyG's") {
  const auto run = [](const std::string& name, int64_t in, int64_t out, int K,
                      const nn::ChebConvOptions& options, std::optional<double> lambda_max = {}) {
    on_devices("cheb/" + name, [&](PygCase& ref) {
      nn::Model<nn::ChebConv> layer(in, out, K, options);
      ref.load(layer);
      const Graph graph = ref.graph();
      ref.compare(layer, layer(graph, ref.in("x"), {ref.of_edges("edge_weight", graph), lambda_max}));
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
  const auto run = [](const std::string& name, int64_t in, int64_t out, const nn::SAGEConvOptions& options) {
    on_devices("sage/" + name, [&](PygCase& ref) {
      nn::Model<nn::SAGEConv> layer(in, out, options);
      ref.load(layer);
      ref.compare(layer, layer(ref.graph(), ref.in("x")));
    });
  };
  for (const auto& [name, aggr] :
       {std::pair<std::string, Reduce>{"mean", Reduce::mean}, {"max", Reduce::max}, {"sum", Reduce::sum}}) {
    run(name, 4, 6, {.aggr = aggr});
    run(name + "_wide", 6, 4, {.aggr = aggr, .bias = false});
  }
  run("normalized", 4, 6, {.normalize = true});
  run("rootless", 4, 6, {.root_weight = false});
  run("pool", 4, 6, {.aggr = Reduce::max, .project = true});
  on_devices("sage/bipartite", [](PygCase& ref) {
    nn::Model<nn::SAGEConv> layer(nn::Widths(5, 3), 4);
    ref.load(layer);
    ref.compare(layer, layer(ref.relation(), {ref.in("x_src"), ref.in("x_dst")}));
  });
}

TEST_CASE("PNAConv and its gradients equal PyG's") {
  const auto run = [](const std::string& name, const nn::PNAConvOptions& options) {
    on_devices("pna/" + name, [&](PygCase& ref) {
      std::vector<int64_t> degrees;
      for (int32_t count : ref("degrees").to_vector<int32_t>()) degrees.push_back(count);
      nn::Model<nn::PNAConv> layer(4, 6, degrees, options);
      ref.load(layer);
      ref.compare(layer, layer(ref.graph(), ref.in("x")));
    });
  };
  using nn::Scaler;
  const std::vector<Reduce> every{Reduce::mean, Reduce::min, Reduce::max, Reduce::std};
  std::vector<Reduce> all = every;
  for (Reduce more : {Reduce::sum, Reduce::var}) all.push_back(more);
  run("plain", {});
  run("towers", {.aggregators = all,
                 .scalers = {Scaler::identity, Scaler::linear, Scaler::inverse_linear},
                 .towers = 2});
  run("divided", {.aggregators = {Reduce::mean, Reduce::max},
                  .scalers = {Scaler::identity, Scaler::amplification},
                  .towers = 2,
                  .post_layers = 2,
                  .divide_input = true,
                  .train_norm = true});
}

TEST_CASE("TAGConv and its gradients equal PyG's") {
  on_devices("tag/plain", [](PygCase& ref) { on_graph(nn::Model<nn::TAGConv>(3, 5), ref); });
  on_devices("tag/wide",
             [](PygCase& ref) { on_graph(nn::Model<nn::TAGConv>(5, 3, nn::TAGConvOptions{2}), ref); });
  on_devices("tag/weighted", [](PygCase& ref) {
    on_graph(nn::Model<nn::TAGConv>(5, 3, nn::TAGConvOptions{2, false}), ref);
  });
  on_devices("tag/not_normalized", [](PygCase& ref) {
    on_graph(nn::Model<nn::TAGConv>(3, 5, nn::TAGConvOptions{2, true, false}), ref);
  });
  on_devices("tag/zero",
             [](PygCase& ref) { on_graph(nn::Model<nn::TAGConv>(5, 3, nn::TAGConvOptions{0}), ref); });
}
