// Layers over an unsorted edge list against the same layers over sorted rows.

#include "../reference/plain.h"
#include "layers.h"

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 50, kEdges = 300, kIn = 12, kOut = 7;

/// Output and gradients of one layer and input, with scattered and with reduced sums.
template <class Layer, class... Args>
void check_both_ways(bool weighted, Args... args) {
  on_devices(250, DType::f32, [&](Draw& draw, Device device) {
    const Tensor src = draw.ints(kEdges, 0, kNodes), dst = draw.ints(kEdges, 0, kNodes - 2),
                 weight = weighted ? draw.uniform({kEdges}, 0.5, 4.5) : Tensor(),
                 x = draw.normal({kNodes, kIn});
    nn::Model<Layer> layer(args...);
    layer.to(device);
    const auto run = [&](Aggregation way) {
      const ComputeScope scope({.aggregation = way});
      const Graph graph(Relation::from_coo(kNodes, kNodes, src, dst), weight);
      const Var input = Var::parameter(x);
      std::vector<Tensor> results = pass(layer, graph, input);
      results.push_back(input.grad());
      return results;
    };
    const auto spmm_coo = run(Aggregation::scatter), gar = run(Aggregation::reduce);
    REQUIRE(spmm_coo.size() == gar.size());
    for (size_t k = 0; k < spmm_coo.size(); ++k) CHECK(close_to_scale(spmm_coo[k], gar[k], 2e-5));
  });
}

}  // namespace

TEST_CASE("layers over a list equal those over sorted rows") {
  for (bool weighted : {false, true}) {
    CAPTURE(weighted);
    check_both_ways<nn::GCNConv>(weighted, kIn, kOut);
    check_both_ways<nn::GCNConv>(weighted, kIn, 2 * kIn, nn::GCNConvOptions{.improved = true});
    check_both_ways<nn::GCNConv>(weighted, kIn, kOut, nn::GCNConvOptions{.add_self_loops = false});
    check_both_ways<nn::GCNConv>(weighted, kIn, kOut, nn::GCNConvOptions{.normalize = false});
    check_both_ways<nn::SAGEConv>(weighted, kIn, kOut);
    check_both_ways<nn::SAGEConv>(weighted, kIn, 2 * kIn, nn::SAGEConvOptions{.aggr = Reduce::sum});
    check_both_ways<nn::GraphConv>(weighted, kIn, kOut);
    for (bool learns : {false, true})
      check_both_ways<nn::GINConv<nn::MLP>>(weighted, nn::GINConvOptions{.eps = 0.3, .train_eps = learns},
                                            std::vector<int64_t>{kIn, 8, kOut});
  }
}
