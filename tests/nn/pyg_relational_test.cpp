// Layers over several types of edges against PyG's: outputs and gradients of inputs and parameters, from the
// state of PyG's layer.
#include "../reference/pyg_case.h"
#include "layers.h"
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/nn/conv/han_conv.h>
#include <adjoint/nn/conv/hetero_conv.h>

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

const std::vector<EdgeType> kKinds{{"a", "x", "b"}, {"b", "y", "a"}, {"c", "x", "a"},
                                   {"a", "z", "a"}, {"b", "w", "c"}, {"a", "none", "b"}};
const nn::TypedWidths kWidths{{"a", 4}, {"b", 3}, {"c", 5}};
const std::map<std::string, int64_t> kCounts{{"a", 6}, {"b", 9}, {"c", 5}};

/// The layer's results of all types, one after the other, for the graph and features by type of a case.
template <class Layer>
Var output_by_type(const Layer& layer, PygCase& ref) {
  std::map<EdgeType, HeteroGraph::Edges> edges;
  for (size_t k = 0; k < kKinds.size(); ++k) {
    const Tensor pair = ref("edges" + std::to_string(k));
    const auto end = [&](int64_t row) { return pair.rows(row, row + 1).reshape({pair.size(1)}); };
    edges[kKinds[k]] = {
        Relation::from_coo(kCounts.at(kKinds[k].src), kCounts.at(kKinds[k].dst), end(0), end(1))};
  }
  nn::TypedVars x;
  for (const auto& [type, count] : kCounts) x[type] = ref.in(type);
  std::vector<Var> results;
  for (const auto& [type, y] : layer(HeteroGraph({kCounts.begin(), kCounts.end()}, edges), x))
    results.push_back(reshape(y, {-1}));
  return cat(results);
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

TEST_CASE("RGATConv and its gradients equal PyG's") {
  const auto run = [](const std::string& name, const nn::RGATConvOptions& options) {
    on_cases("rgat/" + name, [&](PygCase& ref) {
      nn::Model<nn::RGATConv> layer(6, 4, 5, options);
      ref.load(layer);
      ref.compare(layer, layer(typed_graph(ref), ref.in("x")));
    });
  };
  const auto by_relation = nn::RelationalSoftmax::within_relation;
  const auto product = nn::RelationalLogits::multiplicative;
  run("across", {});
  run("within", {.softmax = by_relation});
  run("product", {.logits = product});
  run("product_within", {.softmax = by_relation, .logits = product});
  run("heads", {.heads = 2});
  run("mean", {.softmax = by_relation, .heads = 3, .concat = false});
  run("bases", {.bases = 2, .heads = 2, .negative_slope = 0.05f});
  run("blocks", {.blocks = 2, .logits = product, .heads = 2, .bias = false});
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

TEST_CASE("HANConv and its gradients equal PyG's") {
  for (const auto& [name, out, heads] :
       {std::tuple<const char*, int64_t, int64_t>{"heads", 6, 2}, {"one_head", 5, 1}})
    on_cases(std::string("han/") + name, [&](PygCase& ref) {
      nn::Model<nn::HANConv> layer(kWidths, out, kKinds, nn::HANConvOptions{.heads = heads});
      ref.load(layer);
      ref.compare(layer, output_by_type(layer, ref));
    });
}

TEST_CASE("HeteroConv and its gradients equal PyG's") {
  for (const nn::Combination combination : values_of<nn::Combination>())
    on_cases("hetero/" + std::string(adj::name_of(combination)), [&](PygCase& ref) {
      nn::Model<nn::HeteroConv> layer(kWidths, combination);
      std::map<std::string, std::string> names;
      for (size_t k = 0; k < kKinds.size(); ++k) {
        const EdgeType& kind = kKinds[k];
        if (k % 3 == 0) layer.add<nn::SAGEConv>(kind, 6);
        if (k % 3 == 1) layer.add<nn::GraphConv>(kind, 6);
        if (k % 3 == 2)
          layer.add<nn::GATConv>(kind, 3, nn::GATConvOptions{.heads = 2, .add_self_loops = false});
        names[nn::detail::module_name(kind)] =
            "convs.<" + kind.src + "___" + kind.name + "___" + kind.dst + ">";
      }
      ref.load(layer, names);
      ref.compare(layer, output_by_type(layer, ref), names);
    });
}
