#include "../reference/pyg_case.h"
#include "explained_models.h"

using namespace adj;
using namespace adj::test;
using namespace adj::test::explained;
using Kind = ExplainTarget::Kind;

TEST_CASE("a model gives a target the same output in its neighbourhood as in the whole graph") {
  Draw draw(821, {}, DType::f32);
  const Graph graph = sparse_graph(draw);
  const Features x(draw.normal({graph.num_nodes(), kExplainedIn}));
  std::vector<TrainedModel> all;
  for (const auto& [family, model] : {std::pair{models::gcn(), 0},
                                      {models::sage(), 0},
                                      {models::gin(), 0},
                                      {models::gin(), 1},
                                      {models::gat(), 0},
                                      {models::gat(), 1},
                                      {models::transformer(), 0},
                                      {models::agnn(), 0},
                                      {models::gps(), 0}}) {
    models::ModelOptions o = options_of(family, uz(model));
    if (o.model != "gcn" && o.model != "sage" && o.model != "gin" && o.model != "agnn" && o.model != "gps")
      o.edge_dim = 2;
    all.push_back(trained(family, o, draw));
  }
  models::ModelOptions maxima = options_of(models::sage());
  maxima.aggr = models::SageAggregation::pool;
  all.push_back(trained(models::sage(), maxima, draw));
  for (const TrainedModel& model : all) {
    CAPTURE(model.describe());
    const Tensor whole = model.outputs(graph, x);
    for (const int64_t node : {0, 17, 59}) {
      const Explainer explainer(model, graph, x, {Kind::node, node});
      const NoGrad no_grad;
      const Tensor expected = whole.rows(node, node + 1),
                   ones = Tensor::full({std::ssize(explainer.neighborhood().edges)}, 1.0);
      CHECK(close(explainer.outputs().value(), expected, 1e-5));
      // Through masked messages, and features as a variable.
      CHECK(close(explainer.outputs(Var(ones), Var(explainer.features())).value(), expected, 1e-4));
      if (node == 17 && !model.describe().starts_with("GPS"))
        CHECK(std::ssize(explainer.neighborhood().nodes) < graph.num_nodes());
    }
  }
}

TEST_CASE("masks and attributions are those of PyG") {
  for (const auto& [name, family] : {std::pair{"gcn", models::gcn()},
                                     {"sage", models::sage()},
                                     {"gin", models::gin()},
                                     {"gat", models::gat()},
                                     {"transformer", models::transformer()}})
    on_devices(
        name,
        [&](PygCase& reference) {
          models::ModelOptions o = options_of(family);
          o.norm = models::Norm::none;
          o.hidden = 6;
          o.output_heads = 1;
          Draw draw(1);
          TrainedModel::Parts parts;
          parts.family = family;
          parts.options = o;
          parts.task = Task::node_class;
          parts.num_features = kExplainedIn;
          parts.num_outputs = kExplainedOut;
          parts.edges.weights = models::EdgeWeights::unused;
          parts.origin = name;
          parts.model = family.make(kExplainedIn, kExplainedOut, o);
          reference.load(*parts.model);
          const TrainedModel model(std::move(parts));
          const Graph graph = Graph::from_coo(reference("x").size(0), reference("src"), reference("dst"));
          const Features x(reference("x"));
          CHECK(close(model.outputs(graph, x), reference("y"), 1e-5));
          const Explainer explainer(model, graph, x,
                                    {Kind::node, static_cast<int64_t>(reference.option("node", 0))});

          // PyG's edge of each of ours that reaches the node.
          const Explanation gradients = explainer.explain({.method = ExplainMethod::integrated_gradients});
          const auto order = graph.input_order().to(Device::cpu()).to_vector<int32_t>();
          const auto in_order = [&](const char* values_name) {
            const Numbers numbers = values(reference(values_name));
            std::vector<float> ours;
            for (const int32_t e : gradients.edges)
              ours.push_back(static_cast<float>(numbers[uz(order[uz(e)])]));
            return Tensor::from(ours);
          };
          CHECK(close(Tensor::from(gradients.edge_importance), in_order("edge_gradients"), 1e-5));
          const Tensor of_nodes = index_select(Var(reference("feature_gradients").to(Device::cpu())),
                                               Tensor::from(explainer.neighborhood().nodes))
                                      .value();
          CHECK(close(gradients.node_feature_importance, of_nodes, 1e-5));

          models::ExplainOptions learn{.epochs = static_cast<int64_t>(reference.option("epochs", 0)),
                                       .lr = reference.option("lr", 0)};
          learn.edge_start = in_order("first_edges");
          learn.feature_start = reference("first_features");
          const Explanation masks = explainer.explain(learn);
          CHECK(close(Tensor::from(masks.edge_importance), in_order("edge_mask"), 1e-4));
          CHECK(
              close(Tensor::from(masks.feature_importance), reference("node_mask").to(Device::cpu()), 1e-4));
        },
        "pyg_explain.h5");
}

TEST_CASE("attributions of every kind of model add up, and explanations have the same bits on any threads") {
  Draw draw(822, {}, DType::f32);
  const Graph graph = sparse_graph(draw, 30);
  const Tensor x = draw.normal({30, kExplainedIn});
  const Tensor offsets = Tensor::from(std::vector<int64_t>{0, 30});
  const auto check = [&](const TrainedModel& model, const ExplainTarget& target) {
    CAPTURE(model.describe());
    const Explainer explainer(model, graph, Features(x), target, offsets);
    const Explanation why = explainer.explain({.method = ExplainMethod::integrated_gradients, .steps = 200});
    CHECK(why.value != doctest::Approx(*why.baseline).epsilon(1e-3));
    CHECK(why.attributed() == doctest::Approx(why.value - *why.baseline).epsilon(0.01));
    CHECK(same_bits_on_any_threads(
        [&] { return Tensor::from(explainer.explain({.epochs = 5}).edge_importance); }, {4}));
  };
  check(trained(models::gcn(), options_of(models::gcn()), draw), {Kind::node, 3});
  check(trained(models::gat(), options_of(models::gat(), 1), draw), {Kind::node, 3});
  check(trained(models::gps(), options_of(models::gps()), draw), {Kind::node, 3});
  for (const auto& family : {models::graph_gin(), models::graph_gps()})
    check(trained(family, options_of(family), draw, kExplainedIn, kExplainedOut, Task::graph_class),
          {Kind::graph, 0});
  check(trained(models::link(), options_of(models::link()), draw, kExplainedIn, 1, Task::none),
        {Kind::edge, 3, 8});
  const EdgeIndex ends = graph.edge_index();
  models::ModelOptions with_attributes = options_of(models::edge());
  with_attributes.edge_dim = 2;
  check(trained(models::edge(), with_attributes, draw, kExplainedIn, kExplainedOut, Task::edge_class),
        {Kind::edge, ends.src.data<int32_t>()[5], ends.dst.data<int32_t>()[5]});
  check(trained(models::gcn(), options_of(models::gcn()), draw, kExplainedIn, 1, Task::node_regression),
        {Kind::node, 3});
}
