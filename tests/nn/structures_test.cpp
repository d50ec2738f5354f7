// Layers over graphs, edge lists, relations and blocks.
#include "../reference/plain.h"
#include "layers.h"
#include <adjoint/autograd/detail/edge.h>
#include <adjoint/kernels/compute_context.h>
#include <adjoint/nn/quantizer.h>
#include <adjoint/ops.h>

#include <atomic>
#include <thread>

using namespace adj;
using namespace adj::nn;
using namespace adj::test;

namespace {

constexpr int64_t kSources = 11, kTargets = 4, kEdges = 26;
constexpr double kFloat32 = 1e-6;  // cached matrices have float32

/// A block against its relation and a graph of its edges, whose first nodes are the block's targets.
template <class Layer, class... Extra>
void check_block(Layer& layer, const Block& block, const Tensor& x, const Extra&... extra) {
  CAPTURES(layer.describe(), block.num_dst());
  const auto [src, dst] = block.relation().edge_index();
  const Graph graph(Relation::from_coo(block.num_src(), block.num_src(), src, dst));
  Draw draw(71, x.device());
  const Tensor dy = draw.normal({block.num_dst(), 4});
  // The targets' rows of the output, and the gradient of x.
  const auto pass = [&](const auto& structure) {
    const Var input = Var::parameter(x);
    const Var y = narrow(layer(structure, input, extra...), 0, 0, dy.size(0));
    y.backward(dy);
    return std::pair(y.value(), input.grad());
  };
  const auto of_block = pass(block), of_relation = pass(block.relation()), of_graph = pass(graph);
  CHECK(close(of_block.first, of_graph.first, kFloat32));
  CHECK(close(of_block.second, of_graph.second, kFloat32));
  CHECK(same_bits(of_block.first, of_relation.first));
  CHECK(same_bits(of_block.second, of_relation.second));
  // Features of any kind; layers without parameters make them float32.
  if (layer.parameters().empty()) return;
  const SparseMatrix sparse = draw.sparse(block.num_src(), x.size(1), 30);
  const Var dense(sparse.to_dense().to(DType::f64));
  CHECK(same_bits(layer(block, Features(x), extra...).value(), of_block.first));
  CHECK(same_bits(layer(block, sparse, extra...).value(), layer(block, dense, extra...).value()));
  CHECK(close(layer(graph, sparse, extra...).value(), layer(graph, dense, extra...).value(), kFloat32));
}

Block random_block(Draw& draw, int64_t targets) {
  const Tensor src = draw.ints(kEdges, 0, kSources), dst = draw.ints(kEdges, 0, targets);
  return {Relation::from_coo(kSources, targets, src, dst), draw.distinct(kSources, 100)};
}

}  // namespace

TEST_CASE("a layer gives the same results over a block, its relation and a graph of its edges") {
  on_devices(70, DType::f64, [&](Draw& draw, Device) {
    const Block block = random_block(draw, kTargets), square = random_block(draw, kSources);
    const Tensor x = draw.normal({kSources, 4}), wide = draw.normal({kSources, 6});
    const Var weight(draw.uniform({kEdges}, 0.3, 2.0)), attr(draw.normal({kEdges, 2}));
    const auto check_all = [&](auto&& layer, const Tensor& features, const auto&... extra) {
      layer.to(x.device());
      layer.to(DType::f64);
      check_block(layer, square, features, extra...);
    };
    const auto check = [&](auto&& layer, const Tensor& features, const auto&... extra) {
      check_all(layer, features, extra...);
      check_block(layer, block, features, extra...);
    };
    for (bool improved : {false, true}) {
      check(Model<GCNConv>(4, 4, GCNConvOptions{.improved = improved}), x, weight);
      check(Model<GCNConv>(6, 4, GCNConvOptions{.improved = improved}), wide, Var());
    }
    check(Model<GCNConv>(4, 4, GCNConvOptions{.normalize = false}), x);
    for (const Reduce aggr : {Reduce::sum, Reduce::mean, Reduce::max}) {
      check(Model<GraphConv>(4, 4, GraphConvOptions{aggr}), x, weight);
      check(Model<GraphConv>(6, 4, GraphConvOptions{aggr}), wide);
      check(Model<SAGEConv>(4, 4, SAGEConvOptions{.aggr = aggr}), x);
      check(Model<SAGEConv>(6, 4, SAGEConvOptions{.aggr = aggr, .project = true}), wide);
    }
    for (bool trained : {false, true})
      check(Model<GINConv<>>(GINConvOptions{0.5, trained}, std::vector<int64_t>{4, 4}), x);
    check(Model<GINEConv<>>(4, GINEConvOptions{.edge_dim = 2}, std::vector<int64_t>{4, 4}), x, attr);
    check(Model<GATConv>(4, 2, GATConvOptions{.heads = 2, .residual = true}), x);
    check(Model<GATConv>(4, 2, GATConvOptions{.heads = 2, .add_self_loops = false, .edge_dim = 2}), x, attr);
    for (bool shared : {false, true})
      check(Model<GATv2Conv>(4, 2, GATv2ConvOptions{.heads = 2, .share_weights = shared}), x);
    check(Model<TransformerConv>(4, 2, TransformerConvOptions{.heads = 2, .beta = true}), x);
    check(Model<AGNNConv>(), x);
    check(Model<PNAConv>(4, 4, std::vector<int64_t>{1, 2, 3}, PNAConvOptions{.towers = 2}), x);
    check(Model<GCN2Conv>(4, 0.2), x, Var(draw.normal({kSources, 4})));
    for (int64_t in : {4, 16})
      check(Model<RGCNConv>(in, 4, 3), draw.normal({kSources, in}), draw.ints(kEdges, 0, 3));
    check(Model<RGATConv>(4, 2, 3, RGATConvOptions{.heads = 2}), x, draw.ints(kEdges, 0, 3));
    check(Model<SGConv>(6, 4), wide, weight);
    // Several hops.
    const auto check_hops = [&](auto&& layer, const Tensor& features, const auto&... extra) {
      check_all(layer, features, extra...);
      const auto refused = "several hops, expected one set of nodes, got 11 sources and 4 targets";
      CHECK_ERROR_HAS(layer(block, features, extra...), refused);
      CHECK_ERROR_HAS(layer(block.relation(), Features(features), extra...), refused);
    };
    for (const Var& w : {Var(), weight}) {
      check_hops(Model<SGConv>(4, 4, SGConvOptions{2}), x, w);
      check_hops(Model<APPNP>(3, 0.2), x, w);
      check_hops(Model<TAGConv>(4, 4), x, w);
      check_hops(Model<TAGConv>(6, 4, TAGConvOptions{.normalize = false}), wide, w);
      for (Laplacian kind : {Laplacian::plain, Laplacian::symmetric, Laplacian::random_walk})
        check_hops(Model<ChebConv>(6, 4, 3, ChebConvOptions{kind}), wide, ChebConvCall{w, {}});
    }
    check_hops(Model<ChebConv>(4, 4, 3), x);
    const SparseMatrix sparse = draw.sparse(kSources, 4, 30);
    const Model<APPNP> appnp(3, 0.2);
    CHECK(same_bits(appnp(square, sparse).value(),
                    appnp(square, Var(sparse.to_dense().to(DType::f32))).value()));
  });
}

TEST_CASE("layers over an unsorted edge list equal those over sorted rows") {
  constexpr int64_t kNodes = 50, kMany = 300, kIn = 12, kOut = 7;
  on_devices(250, DType::f32, [&](Draw& draw, Device device) {
    const Tensor src = draw.ints(kMany, 0, kNodes), dst = draw.ints(kMany, 0, kNodes - 2),
                 x = draw.normal({kNodes, kIn});
    for (const Tensor& weight : {Tensor(), draw.uniform({kMany}, 0.5, 4.5)}) {
      const auto check = [&](auto&& layer) {
        CAPTURES(layer.describe(), static_cast<bool>(weight));
        layer.to(device);
        const auto run = [&](Aggregation method) {
          const ComputeScope scope({.aggregation = method});
          const Graph graph(Relation::from_coo(kNodes, kNodes, src, dst), weight);
          const Var input = Var::parameter(x);
          std::vector<Tensor> results = pass(layer, graph, input);
          results.push_back(input.grad());
          return results;
        };
        const auto scattered = run(Aggregation::scatter), reduced = run(Aggregation::reduce);
        REQUIRE(scattered.size() == reduced.size());
        for (size_t k = 0; k < reduced.size(); ++k) CHECK(close_to_scale(scattered[k], reduced[k], 2e-5));
      };
      check(Model<GCNConv>(kIn, kOut));
      check(Model<GCNConv>(kIn, 2 * kIn, GCNConvOptions{.improved = true}));
      check(Model<GCNConv>(kIn, kOut, GCNConvOptions{.add_self_loops = false}));
      check(Model<GCNConv>(kIn, kOut, GCNConvOptions{.normalize = false}));
      check(Model<SAGEConv>(kIn, kOut));
      check(Model<SAGEConv>(kIn, 2 * kIn, SAGEConvOptions{.aggr = Reduce::sum}));
      check(Model<GraphConv>(kIn, kOut));
      for (bool learns : {false, true})
        check(Model<GINConv<MLP>>(GINConvOptions{.eps = 0.3, .train_eps = learns},
                                  std::vector<int64_t>{kIn, 8, kOut}));
    }
  });
}

TEST_CASE("two threads run one layer, each on its own input, in evaluation mode") {
  Draw draw(74, Device::cpu(), DType::f32);
  const Graph graph(
      Relation::from_coo(kSources, kSources, draw.ints(kEdges, 0, kSources), draw.ints(kEdges, 0, kSources)));
  const Tensor inputs[] = {draw.normal({kSources, 4}), draw.normal({kSources, 4})};
  const auto check = [&](auto&& trained, const auto&... extra) {
    CAPTURE(trained.describe());
    (void)trained(graph, Var(inputs[0]), extra...);  // sets the scales of quantizers
    trained.eval();
    const auto& layer = trained;
    std::atomic<int> different = 0;
    std::vector<std::thread> threads;
    for (const Tensor& x : inputs)
      threads.emplace_back([&, expected = layer(graph, Var::parameter(x), extra...).value()] {  // not cached
        for (int pass = 0; pass < 200; ++pass)
          different += same_bits(layer(graph, Var(x), extra...).value(), expected) ? 0 : 1;
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(different.load() == 0);
  };
  check(Model<GCNConv>(4, 4));
  check(Model<SGConv>(4, 6, SGConvOptions{.K = 2}));
  check(Model<GraphConv>(4, 4));
  check(Model<SAGEConv>(4, 4));
  for (bool trained : {false, true}) check(Model<GINConv<QuantLinear>>(GINConvOptions{0.5, trained}, 4, 4));
  check(Model<GINEConv<>>(4, GINEConvOptions{.edge_dim = 2}, std::vector<int64_t>{4, 4}),
        Var(draw.normal({kEdges, 2})));
  check(Model<GATConv>(4, 2, GATConvOptions{.heads = 2}));
  check(Model<PNAConv>(4, 4, std::vector<int64_t>{1, 2, 3}));
}

TEST_CASE("mean factors are cached with the relation") {
  Draw draw(72, Device::cpu());
  const Relation relation = Relation::from_coo(7, 3, draw.ints(12, 0, 7), draw.ints(12, 0, 3));
  const std::vector<float> degree = relation.in_degrees().to_vector<float>();
  const std::vector<int32_t> dst = relation.edge_index().dst.to_vector<int32_t>();
  for (const Aggregation kind : {Aggregation::reduce, Aggregation::scatter}) {
    const ComputeScope scope({.aggregation = kind});
    const Tensor factor = adj::detail::mean_factors(relation, DType::f32);
    CHECK(adj::detail::mean_factors(relation, DType::bf16).storage_id() == factor.storage_id());
    CHECK(adj::detail::mean_factors(relation, DType::f64).dtype() == DType::f64);
    const std::vector<float> f = factor.to_vector<float>();
    const bool of_edges = relation.scatters(DType::f32);
    REQUIRE(f.size() == (of_edges ? dst.size() : degree.size()));
    for (size_t k = 0; k < f.size(); ++k) {
      const float count = degree[of_edges ? uz(dst[k]) : k];
      CHECK(f[k] == (count > 0 ? 1.0f / count : 0.0f));
    }
  }
}

TEST_CASE("layers reject mismatched features and structures") {
  Draw draw(73, Device::cpu());
  const Relation wide = Relation::from_coo(3, 7, draw.ints(12, 0, 3), draw.ints(12, 0, 7));
  const Relation block = wide.reversed();
  const Var x(draw.normal({7, 4})), few(draw.normal({3, 4}));
  const auto refuses = [](auto&& layer, const char* part, const auto&... arguments) {
    layer.to(DType::f64);
    CHECK_ERROR_HAS(layer(arguments...), part);
  };
  refuses(Model<SAGEConv>(4, 3), "3 sources and 7 targets", wide, few);
  refuses(Model<SAGEConv>(4, 3), "[3, 4]", block, few);
  refuses(Model<GATConv>(4, 3), "absent", block, Sides{x, Var()});
  refuses(Model<GCNConv>(4, 3), "3 sources and 7 targets", wide, few);
  refuses(Model<GCNConv>(4, 3, GCNConvOptions{.add_self_loops = false}), "self-loops", block, x);
}
