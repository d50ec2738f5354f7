// Layers over several types of edges against PyG's: outputs and gradients of inputs and parameters, from the
// state of PyG's layer.
#include "../reference/pyg_case.h"
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/nn/conv/hgt_conv.h>
#include <adjoint/nn/conv/rgcn_conv.h>

using namespace adj;
using namespace adj::test;

namespace {

/// f(PygCase&) for a group, on every device.
template <class F>
void on_cases(const std::string& group, F&& f) {
  on_devices(group, f, "pyg_relational.h5");
}

/// The graph of a case, with the types of its edges as attribute "type".
Graph typed_graph(const PygCase& ref) {
  return Graph::from_coo(ref("y").size(0), ref("src"), ref("dst"), {}, {{"type", ref("type")}});
}

}  // namespace

TEST_CASE("RGCNConv and its gradients equal PyG's") {
  const auto run = [](const std::string& name, const nn::Widths& in, int64_t out, int64_t relations,
                      const nn::RGCNConvOptions& options) {
    on_cases("rgcn/" + name, [&](PygCase& ref) {
      nn::Model<nn::RGCNConv> layer(in, out, relations, options);
      ref.load(layer);
      const bool one_set = ref.has("in/x");
      ref.compare(layer, one_set ? layer(typed_graph(ref), ref.in("x"))
                                 : layer(ref.relation(), {ref.in("x_src"), ref.in("x_dst")}, ref("type")));
    });
  };
  run("wide", 3, 7, 5, {});
  run("narrow", 7, 3, 5, {});
  run("sum", 4, 6, 3, {.aggr = Reduce::sum});
  run("sum_narrow", 9, 2, 4, {.aggr = Reduce::sum, .bias = false});
  run("bases", 5, 4, 6, {.bases = 3});
  run("blocks", 6, 4, 4, {.blocks = 2});
  run("rootless", 6, 9, 4, {.blocks = 3, .root_weight = false});
  run("bipartite", {5, 3}, 4, 4, {});
}

TEST_CASE("HGTConv and its gradients equal PyG's") {
  const auto run = [](const std::string& name, int64_t in, int64_t out, int64_t heads) {
    on_cases("hgt/" + name, [&](PygCase& ref) {
      nn::Model<nn::HGTConv> layer(in, out, 3, 6, nn::HGTConvOptions{heads});
      ref.load(layer);
      ref.compare(layer, layer(typed_graph(ref), ref.in("x"), ref("node_type")));
    });
  };
  run("skip", 6, 6, 3);
  run("wide", 4, 8, 2);
  run("one_head", 5, 5, 1);
}
