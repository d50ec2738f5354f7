#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/edge_mask.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/core/error.h>
#include <adjoint/models/edge.h>
#include <adjoint/models/explain/explainer.h>
#include <adjoint/models/positional_encoding.h>

#include <algorithm>
#include <numeric>

namespace adj::models {

namespace {

constexpr int64_t kMostFeatures = int64_t{1} << 27;  // numbers of a neighbourhood that are made dense
constexpr const char* kKinds[] = {"nodes", "graphs", "edges or links"};

/// Whose neighbourhood: the target's nodes, or all nodes of its graph.
std::vector<int32_t> nodes_of(const ExplainTarget& target, const Tensor& offsets) {
  if (target.kind == ExplainTarget::Kind::node) return {static_cast<int32_t>(target.first)};
  if (target.kind == ExplainTarget::Kind::edge)
    return {static_cast<int32_t>(target.first), static_cast<int32_t>(target.second)};
  const Tensor bounds = offsets.to(Device::cpu());
  const int64_t* first = bounds.data<int64_t>() + target.first;
  std::vector<int32_t> nodes(static_cast<size_t>(first[1] - first[0]));
  std::iota(nodes.begin(), nodes.end(), static_cast<int32_t>(first[0]));
  return nodes;
}

void check_target(const TrainedModel& trained, const Graph& graph, const ExplainTarget& target,
                  const Tensor& offsets) {
  using Kind = ExplainTarget::Kind;
  require_explainable(trained);
  const Kind kind = trained.of_graphs()                        ? Kind::graph
                    : trained.of_links() || trained.of_edges() ? Kind::edge
                                                               : Kind::node;
  if (kind != target.kind)
    usage_fail("{}: a model of {}, got a target among {}", trained.origin(), trained.description().things(),
               kKinds[static_cast<size_t>(target.kind)]);
  ADJ_CHECK(kind != Kind::graph || offsets, "{}: the offsets of graphs are absent", trained.origin());
  const int64_t count = kind == Kind::graph ? offsets.numel() - 1 : graph.num_nodes();
  for (const int64_t number : {target.first, kind == Kind::edge ? target.second : target.first})
    if (number < 0 || number >= count)
      usage_fail("{} {}: expected 0 to {}", kind == Kind::graph ? "graph" : "node", number, count - 1);
}

Neighborhood neighborhood_for(const TrainedModel& trained, const Graph& whole, const ExplainTarget& target,
                              const Tensor& offsets) {
  if (target.kind == ExplainTarget::Kind::graph) return neighborhood_of(whole, nodes_of(target, offsets), 1);
  const auto* pairs = trained.model().as<PairModel>();
  const auto* nodes = pairs != nullptr ? &pairs->encoder() : trained.model().as<NodeModel>();
  if (const auto hops = nodes->hops()) return neighborhood_of(whole, nodes_of(target, offsets), *hops);
  std::vector<int32_t> all(static_cast<size_t>(whole.num_nodes()));
  std::iota(all.begin(), all.end(), 0);
  return neighborhood_of(whole, all, 1);
}

}  // namespace

void require_explainable(const TrainedModel& trained) {
  if (trained.description().types)
    usage_fail(
        "{}: {} has layers over several relations, which take no edge mask; expected a model of one node "
        "type",
        trained.origin(), trained.describe());
}

Explainer::Explainer(const TrainedModel& trained, const Graph& graph, const Features& x,
                     const ExplainTarget& target, const Tensor& offsets)
    : trained_(trained), target_(target) {
  check_target(trained, graph, target, offsets);
  const Device device = trained.device();
  const bool encoded = models::positional_columns(trained.options()) > 0;
  const Features all = encoded ? trained.inputs(graph, x) : trained.description().features(graph, x);
  neighborhood_ = neighborhood_for(trained, graph.to(Device::cpu()), target, offsets);
  graph_ = trained.prepare(neighborhood_.graph);
  const Features rows = all.to(Device::cpu()).rows(Tensor::from(neighborhood_.nodes));
  x_ = encoded ? rows.to(device) : trained.prepare(rows);
  if (x_.rows() <= kMostFeatures / std::max<int64_t>(1, x_.cols()))
    dense_ = x_.to_dense().to(trained.model().parameters().front().dtype());
  if (target.kind == ExplainTarget::Kind::graph) {
    offsets_ = Tensor::from(std::vector<int64_t>{0, graph_.num_nodes()}, device);
  } else {
    place_ = Tensor::from(std::vector{neighborhood_.place(target.first)}, device);
    if (target.kind == ExplainTarget::Kind::edge)
      other_place_ = Tensor::from(std::vector{neighborhood_.place(target.second)}, device);
  }
  if (const auto* edge_model = trained.model().as<EdgeModel>()) {
    const std::optional<int32_t> edge = neighborhood_.edge_between(target.first, target.second);
    if (!edge)
      usage_fail("{}: a model of edges, but there is none from node {} to node {}", trained.origin(),
                 target.first, target.second);
    attributes_ = edge_model->attributes_of(graph_, Tensor::from(std::vector{*edge}, device));
  }
  std::vector<int32_t> index(neighborhood_.edges.size(), static_cast<int32_t>(neighborhood_.reaching.size()));
  for (size_t k = 0; k < neighborhood_.reaching.size(); ++k)
    index[static_cast<size_t>(neighborhood_.reaching[k])] = static_cast<int32_t>(k);
  spread_index_ = Tensor::from(index, device);
}

Var Explainer::row_of(const Features& x) const {
  if (const auto* model = trained_.model().as<GraphModel>()) return (*model)(graph_, offsets_, x);
  if (const auto* model = trained_.model().as<NodeModel>()) return index_select((*model)(graph_, x), place_);
  const Var z = trained_.model().as<PairModel>()->encoder()(graph_, x);
  if (const auto* model = trained_.model().as<EdgeModel>())
    return model->outputs(z, {place_, other_place_}, attributes_);
  return trained_.model().as<LinkModel>()->scores(
      z, Relation::from_coo(z.size(0), z.size(0), place_, other_place_));
}

Var Explainer::outputs(const Var& edge_mask, const Var& x) const {
  EdgeMask masked(graph_.relation());
  masked.set(edge_mask);
  if (!x) return row_of(x_);
  const FeatureVariable variable(x);
  const Var y = row_of(Features(x.value()));
  ADJ_CHECK(variable.used(), "{}: {} takes no features with a gradient", trained_.origin(),
            trained_.describe());
  return y;
}

Var Explainer::spread(const Var& of_reaching) const {
  const Var one(Tensor::full({1}, 1.0, of_reaching.dtype(), of_reaching.device()));
  return index_select(cat({of_reaching, one}), spread_index_);
}

int64_t Explainer::usual_output() const {
  const NoGrad no_grad;
  if (has_targets(trained_.task()) && trained_.num_outputs() > 1)
    usage_fail("{}: {} targets, expected the number of one (0 to {})", trained_.origin(),
               trained_.num_outputs(), trained_.num_outputs() - 1);
  const auto y = outputs().value().to(DType::f32).to_vector<float>();
  return std::ranges::max_element(y) - y.begin();
}

int64_t Explainer::column_of(const ExplainOptions& options) const {
  const int64_t column = options.output ? *options.output : usual_output();
  if (column < 0 || column >= trained_.num_outputs())
    usage_fail("output {}: expected 0 to {}", column, trained_.num_outputs() - 1);
  return column;
}

Var Explainer::value_of(const Var& y, int64_t column) const {
  const Var value = cast(reshape(narrow(y, 1, column, 1), Shape{}), DType::f32);
  const ModelDescription& model = trained_.description();
  if (!model.target_mean) return value;
  const auto of_column = [&](const Tensor& t) {
    return static_cast<double>(t.to_vector<float>().at(static_cast<size_t>(column)));
  };
  return value * of_column(model.target_scale) + of_column(model.target_mean);
}

Explanation Explainer::begin(const ExplainOptions& options) const {
  Explanation result;
  result.method = options.method;
  result.output = column_of(options);
  const NoGrad no_grad;
  result.value = value_of(outputs(), result.output).item();
  const EdgeIndex ends = neighborhood_.graph.edge_index();
  const int32_t *src = ends.src.data<int32_t>(), *dst = ends.dst.data<int32_t>();
  for (const int32_t e : neighborhood_.reaching) {
    result.edges.push_back(neighborhood_.edges[static_cast<size_t>(e)]);
    result.src.push_back(neighborhood_.nodes[static_cast<size_t>(src[e])]);
    result.dst.push_back(neighborhood_.nodes[static_cast<size_t>(dst[e])]);
  }
  return result;
}

Explanation Explainer::explain(const ExplainOptions& options) const {
  if (options.epochs < 1 || options.steps < 1 || options.lr <= 0.0)
    usage_fail("explain: {} epochs, {} steps and a learning rate of {}, expected positive ones",
               options.epochs, options.steps, options.lr);
  Explanation result = begin(options);
  switch (options.method) {
    case ExplainMethod::gnn_explainer:
      learn_masks(options, result);
      break;
    case ExplainMethod::integrated_gradients:
      integrate(options, result);
      break;
    case ExplainMethod::attention:
      take_attention(result);
      break;
  }
  return result;
}

}  // namespace adj::models
