// Every attention layer and its options beside PyG's: outputs and gradients of inputs, edge features and
// parameters, from the state that PyG's layer had.
#include "../reference/pyg_case.h"
#include <adjoint/nn/conv/agnn_conv.h>
#include <adjoint/nn/conv/gat_conv.h>
#include <adjoint/nn/conv/gatv2_conv.h>
#include <adjoint/nn/conv/transformer_conv.h>

using namespace adj;
using namespace adj::test;

namespace {

template <class Layer, class Options>
void on_graph(const std::string& group, nn::Widths in, const Options& options) {
  on_devices(group, [&](PygCase& ref) {
    nn::Model<Layer> layer(in, 4, options);
    ref.load(layer);
    const Graph graph = ref.graph();
    ref.compare(layer, layer(graph, ref.in("x"), ref.of_edges("edge_attr", graph)));
  });
}

template <class Layer, class Options>
void on_relation(const std::string& group, const Options& options) {
  on_devices(group, [&](PygCase& ref) {
    nn::Model<Layer> layer(nn::Widths(5, 3), 4, options);
    ref.load(layer);
    ref.compare(layer, layer(ref.relation(), {ref.in("x_src"), ref.in("x_dst")}, ref.in("extra")));
  });
}

}  // namespace

TEST_CASE("GATConv and its gradients equal PyG's") {
  using Options = nn::GATConvOptions;
  const auto graph = [](const std::string& name, const Options& options, nn::Widths in = 5) {
    on_graph<nn::GATConv>("gat/" + name, in, options);
  };
  graph("one_head", {});
  graph("heads", {.heads = 3, .residual = true});
  graph("mean", {.heads = 2, .concat = false, .negative_slope = 0.05f, .bias = false});
  graph("no_loops", {.heads = 2, .add_self_loops = false});
  graph("two_maps", {.heads = 2}, {5, 5});
  graph("edges_mean", {.heads = 2, .edge_dim = 3});
  graph("edges_sum", {.heads = 2, .edge_dim = 2, .fill_value = nn::LoopFill::Kind::sum});
  graph("edges_constant", {.heads = 2, .edge_dim = 1, .fill_value = 0.5});
  graph("edges_no_loops", {.concat = false, .add_self_loops = false, .edge_dim = 3, .residual = true});
  on_relation<nn::GATConv>("gat/bipartite", Options{.heads = 2, .add_self_loops = false, .residual = true});
  on_relation<nn::GATConv>("gat/bipartite_edges",
                           Options{.heads = 2, .add_self_loops = false, .edge_dim = 2});
  on_relation<nn::GATConv>("gat/bipartite_loops", Options{.edge_dim = 2});
}

TEST_CASE("GATv2Conv and its gradients equal PyG's") {
  using Options = nn::GATv2ConvOptions;
  const auto graph = [](const std::string& name, const Options& options) {
    on_graph<nn::GATv2Conv>("gatv2/" + name, 5, options);
  };
  graph("one_head", {});
  graph("heads", {.heads = 3, .residual = true});
  graph("mean", {.heads = 2, .concat = false, .negative_slope = 0.05f, .bias = false});
  graph("no_loops", {.heads = 2, .add_self_loops = false});
  graph("shared", {.heads = 2, .share_weights = true});
  graph("edges_mean", {.heads = 2, .edge_dim = 3});
  graph("edges_constant", {.heads = 2, .edge_dim = 1, .fill_value = 0.5});
  on_relation<nn::GATv2Conv>("gatv2/bipartite",
                             Options{.heads = 2, .add_self_loops = false, .residual = true});
  on_relation<nn::GATv2Conv>("gatv2/bipartite_loops", Options{.heads = 2, .edge_dim = 2});
}

TEST_CASE("TransformerConv and its gradients equal PyG's") {
  using Options = nn::TransformerConvOptions;
  const auto graph = [](const std::string& name, const Options& options) {
    on_graph<nn::TransformerConv>("transformer/" + name, 5, options);
  };
  graph("one_head", {});
  graph("heads", {.heads = 3});
  graph("mean", {.heads = 2, .concat = false, .bias = false});
  graph("rootless", {.heads = 2, .beta = true, .root_weight = false});
  graph("gate", {.heads = 2, .beta = true});
  graph("gate_mean", {.heads = 2, .concat = false, .beta = true});
  graph("edges", {.heads = 2, .edge_dim = 3});
  graph("edges_gate", {.heads = 2, .beta = true, .edge_dim = 1});
  on_relation<nn::TransformerConv>("transformer/bipartite", Options{.heads = 2, .edge_dim = 2});
}

TEST_CASE("AGNNConv and its gradients equal PyG's") {
  const auto run = [](const std::string& name, bool requires_grad, bool self_loops) {
    on_devices("agnn/" + name, [&](PygCase& ref) {
      nn::Model<nn::AGNNConv> layer(nn::AGNNConvOptions{requires_grad, self_loops});
      ref.load(layer);
      ref.compare(layer, layer(ref.graph(), ref.in("x")));
    });
  };
  run("learned", true, true);
  run("fixed", false, true);
  run("no_loops", true, false);
}
