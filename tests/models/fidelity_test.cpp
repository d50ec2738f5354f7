#include "explained_models.h"
#include <adjoint/graph/transforms.h>

using namespace adj;
using namespace adj::test;
using namespace adj::test::explained;
using Kind = ExplainTarget::Kind;

TEST_CASE("fidelity keeps and removes the most important edges") {
  Draw draw(823, {}, DType::f32);
  const Graph graph = sparse_graph(draw);
  const Features x(draw.normal({graph.num_nodes(), kExplainedIn}));
  const TrainedModel model = trained(models::gin(), options_of(models::gin()), draw);
  int64_t node = 0;
  while (Explainer(model, graph, x, {Kind::node, node}).neighborhood().reaching.size() < 6) ++node;
  const Explainer explainer(model, graph, x, {Kind::node, node});
  const Explanation why = explainer.explain({.method = ExplainMethod::integrated_gradients});
  const auto count = std::ssize(why.edges);
  const auto all = explainer.fidelity(why, count), some = explainer.fidelity(why, 2);
  CHECK(all.kept == doctest::Approx(all.whole).epsilon(1e-4));
  CHECK(*all.minus == 0.0);
  CHECK(some.share == doctest::Approx(2.0 / static_cast<double>(count)));
  // A GIN without edges is one on the graph without those that were removed.
  const std::vector<int32_t> order = models::edges_by_importance(why);
  std::vector<int32_t> rest;
  for (int32_t e = 0; e < graph.num_edges(); ++e)
    if (e != why.edges[uz(order[0])] && e != why.edges[uz(order[1])]) rest.push_back(e);
  const Tensor without = model.outputs(edge_subgraph(graph, Tensor::from(rest)), x).rows(node, node + 1);
  const Predictions expected = predictions_of(Task::node_class, without);
  CHECK(some.removed == doctest::Approx(values(expected.probability)[uz(why.output)]).epsilon(1e-4));
  CHECK(*some.plus == (expected.prediction.item() == static_cast<double>(why.output) ? 0.0 : 1.0));
  const models::Fidelity score{.plus = 0.5, .minus = 0.25};
  CHECK(*score.characterization() == doctest::Approx(1.0 / (0.5 / 0.5 + 0.5 / 0.75)));
}

TEST_CASE("attention is the largest coefficient, an isolated node has no edges, bad targets are refused") {
  Draw draw(824, {}, DType::f32);
  const Graph graph = Graph::from_coo(5, Tensor::from(std::vector<int32_t>{0, 1, 2}),
                                      Tensor::from(std::vector<int32_t>{1, 2, 1}));
  const Features x(draw.normal({5, kExplainedIn}));
  const TrainedModel gat = trained(models::gat(), options_of(models::gat()), draw),
                     gcn = trained(models::gcn(), options_of(models::gcn()), draw);
  const Explanation why =
      Explainer(gat, graph, x, {Kind::node, 1}).explain({.method = ExplainMethod::attention});
  const AttentionWeights weights = gat.attention(graph, x);
  for (size_t e = 0; e < why.edges.size(); ++e) {
    double largest = 0.0;
    for (int64_t k = 0; k < weights.edges.src.numel(); ++k)
      if (weights.edges.src.data<int32_t>()[k] == why.src[e] &&
          weights.edges.dst.data<int32_t>()[k] == why.dst[e])
        for (const Tensor& layer : weights.layers)
          for (int64_t h = 0; h < layer.size(1); ++h)
            largest = std::max(largest, static_cast<double>(layer.data<float>()[k * layer.size(1) + h]));
    CHECK(why.edge_importance[e] == doctest::Approx(largest));
  }
  CHECK(why.edges.size() == 3);
  for (const auto method : {ExplainMethod::gnn_explainer, ExplainMethod::integrated_gradients}) {
    const Explainer alone(gcn, graph, x, {Kind::node, 4});
    const Explanation none = alone.explain({.method = method, .epochs = 3});
    CHECK(none.edges.empty());
    CHECK(std::ssize(none.feature_importance) == kExplainedIn);
    CHECK(alone.fidelity(none, 3).share == 0.0);
  }
  const auto error = [&](const TrainedModel& model, const ExplainTarget& target,
                         const models::ExplainOptions& o = {}) {
    return error_of<UsageError>([&] { (void)Explainer(model, graph, x, target).explain(o); });
  };
  CHECK(mentions(error(gcn, {Kind::node, 5}), "node 5: expected 0 to 4"));
  CHECK(mentions(error(gcn, {Kind::graph, 0}), "a model of nodes, got a target among graphs"));
  CHECK(mentions(error(gcn, {Kind::node, 0}, {.method = ExplainMethod::attention}),
                 "has no attention, expected a GAT"));
  CHECK(mentions(error(gcn, {Kind::node, 0}, {.output = 3}), "output 3: expected 0 to 2"));
  const TrainedModel gps = trained(models::gps(), options_of(models::gps()), draw);
  CHECK(mentions(error(gps, {Kind::node, 0}, {.method = ExplainMethod::attention}), "attends to all nodes"));
}
