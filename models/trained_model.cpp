#include <adjoint/autograd/attention_weights.h>
#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/loader/graph_loader.h>
#include <adjoint/models/checkpoint.h>
#include <adjoint/models/edge.h>
#include <adjoint/models/positional_encoding.h>
#include <adjoint/models/trained_model.h>
#include <adjoint/nn/init.h>
#include <adjoint/optim/non_finite.h>

#include <numeric>

namespace adj {

namespace {

/// The rows that run(batch) gives for every batch of graphs, float32 [G, F].
template <class Run>
Tensor rows_of_graphs(const TrainedModel& trained, const Graph& graph, const Tensor& offsets,
                      const Features& x, Run run) {
  const Features features = trained.inputs(graph, x);
  ADJ_CHECK(offsets && offsets.numel() >= 1, "{}: the offsets of graphs are absent", trained.origin());
  const Device device = trained.device();
  std::vector<int32_t> all(static_cast<size_t>(offsets.numel() - 1));
  std::iota(all.begin(), all.end(), 0);
  const GraphLoader loader(trained.prepare(graph), offsets.to(device), make_feature_store(features), {},
                           Tensor::from(all), {.batch_size = trained.graphs_at_once(), .backward = false});
  Tensor result = Tensor::empty({0, trained.num_outputs()}, DType::f32, device);
  int64_t begin = 0;
  for (const GraphBatch& batch : loader.epoch(0)) {
    const Tensor part = run(batch).value();
    if (begin == 0) result = Tensor::empty({loader.num_graphs(), part.size(1)}, DType::f32, device);
    Tensor rows = result.rows(begin, begin + batch.size());
    rows.copy_(part.to(DType::f32));
    begin += batch.size();
  }
  return result;
}

/// As ModelDescription::finish() for what has no unit.
Tensor finite(const Tensor& raw, const std::string& origin) {
  const Tensor values = raw.to(DType::f32);
  ADJ_CHECK(optim::first_not_finite({{"values", values}}).empty(), "{}: the embeddings are not finite",
            origin);
  return values;
}

}  // namespace

TrainedModel::TrainedModel(Parts parts) {
  parts.program = parts.family.program;
  parts.name = parts.model->describe();
  parts.model->eval();
  parts_ = std::make_shared<const Parts>(std::move(parts));
}

bool TrainedModel::of_graphs() const { return model().as<models::GraphModel>() != nullptr; }
bool TrainedModel::of_links() const { return model().as<models::LinkModel>() != nullptr; }
Device TrainedModel::device() const { return model().parameters().front().device(); }

Features TrainedModel::prepare(const Features& x) const {
  return description().prepare(x ? x.to(device()) : x).to(model().parameters().front().dtype());
}

Features TrainedModel::inputs(const Graph& graph, const Features& x) const {
  const Features features = description().features(graph, x);
  if (models::positional_columns(options()) == 0) return prepare(features);
  const Features scaled = num_features() > 0 ? description().prepare(features) : Features();
  const Tensor encoding = models::positional_encoding(graph, options());
  return models::with_encoding(scaled, encoding).to(device()).to(model().parameters().front().dtype());
}

Tensor TrainedModel::outputs(const Graph& graph, const Features& x) const {
  const auto* node_model = model().as<models::NodeModel>();
  const auto* edge_model = model().as<models::EdgeModel>();
  ADJ_CHECK(node_model != nullptr || edge_model != nullptr, "{}: a model of {}, not of nodes or edges",
            origin(), of_graphs() ? "graphs (pass their offsets)" : "links (predict_links)");
  const NoGrad no_grad;
  const Graph local = prepare(graph);
  const Features features = inputs(graph, x);
  if (node_model != nullptr) return finish((*node_model)(local, features).value());
  return finish(edge_model->outputs_of_all(edge_model->encoder()(local, features).value(), local));
}

Tensor TrainedModel::outputs(const Graph& graph, const Tensor& offsets, const Features& x) const {
  const auto* graph_model = model().as<models::GraphModel>();
  ADJ_CHECK(graph_model != nullptr, "{}: a model of {}, not of graphs", origin(), description().things());
  const NoGrad no_grad;
  return finish(rows_of_graphs(*this, graph, offsets, x, [&](const GraphBatch& batch) {
    return (*graph_model)(batch.graph, batch.offsets, batch.x);
  }));
}

Tensor TrainedModel::embeddings(const Graph& graph, const Features& x) const {
  ADJ_CHECK(!of_graphs(), "{}: a model of graphs (pass their offsets)", origin());
  const NoGrad no_grad;
  const Graph local = prepare(graph);
  if (const auto* pair_model = model().as<models::PairModel>())
    return finite(pair_model->encoder()(local, inputs(graph, x)).value(), origin());
  return finite(model().as<models::NodeModel>()->embeddings(local, inputs(graph, x)).value(), origin());
}

Tensor TrainedModel::embeddings(const Graph& graph, const Tensor& offsets, const Features& x) const {
  const auto* graph_model = model().as<models::GraphModel>();
  ADJ_CHECK(graph_model != nullptr, "{}: a model of {}, not of graphs", origin(), description().things());
  const NoGrad no_grad;
  return finite(rows_of_graphs(*this, graph, offsets, x,
                               [&](const GraphBatch& batch) {
                                 return graph_model->embeddings(batch.graph, batch.offsets, batch.x);
                               }),
                origin());
}

AttentionWeights TrainedModel::attention(const Graph& graph, const Features& x) const {
  const auto* pair_model = model().as<models::PairModel>();
  const auto* node_model = pair_model != nullptr ? &pair_model->encoder() : model().as<models::NodeModel>();
  ADJ_CHECK(node_model != nullptr, "{}: a model of {}, expected one of nodes, links or edges for attention",
            origin(), description().things());
  const NoGrad no_grad;
  const AttentionRecord record;
  (void)(*node_model)(prepare(graph), inputs(graph, x));
  ADJ_CHECK(!record.layers().empty(), "{}: {} has no attention, expected a GAT, GATv2, Transformer or AGNN",
            origin(), describe());
  AttentionWeights weights;
  const Relation& edges = record.layers().front().relation;
  const EdgeIndex ends = edges.edge_index();
  weights.edges = {ends.src.to(Device::cpu()), ends.dst.to(Device::cpu())};
  for (const AttentionRecord::Layer& layer : record.layers()) {
    ADJ_CHECK(layer.relation == edges, "{}: layers attend to different edges", origin());
    weights.layers.push_back(layer.weight.to(Device::cpu()));
  }
  return weights;
}

Tensor TrainedModel::predict_links(const Graph& graph, const Features& x, const EdgeIndex& pairs) const {
  ADJ_CHECK(of_links(), "{}: a model of {}, not of links", origin(), description().things());
  return score_links(embeddings(graph, x), pairs);
}

Tensor TrainedModel::score_links(const Tensor& embeddings, const EdgeIndex& pairs) const {
  const auto* link_model = model().as<models::LinkModel>();
  ADJ_CHECK(link_model != nullptr, "{}: a model of {}, not of links", origin(), description().things());
  const NoGrad no_grad;
  const Tensor z = embeddings.to(device()).to(model().parameters().front().dtype());
  const Relation ends =
      Relation::from_coo(z.size(0), z.size(0), pairs.src.to(device()), pairs.dst.to(device()));
  const Tensor scores = finish(link_model->scores_of_all(z, ends));
  return scores.reshape({scores.numel()});
}

Predictions TrainedModel::predict(const Graph& graph, const Features& x) const {
  return predictions_of(task(), outputs(graph, x), class_names());
}

Predictions TrainedModel::predict(const Graph& graph, const Tensor& offsets, const Features& x) const {
  return predictions_of(task(), outputs(graph, offsets, x), class_names());
}

namespace {

/// The model of a checkpoint, without values. Facts that ask for far more than its tensors hold are refused
/// before they take memory; other differences are those that models::load_weights() names.
std::unique_ptr<models::Model> model_of(const TrainedModel::Parts& parts,
                                        const models::Checkpoint& checkpoint, const std::string& prefix) {
  int64_t numbers = 0;
  for (const auto& [name, tensor] : checkpoint.with_prefix(prefix)) numbers += tensor.numel();
  constexpr int64_t kSlack = 1 << 20;
  try {
    const nn::NoInit no_init(2 * numbers + kSlack);
    return parts.family.make(parts.num_features + models::positional_columns(parts.options),
                             parts.num_outputs, parts.options);
  } catch (const Error& error) {
    data_fail("{}: tensors/{}*: {} numbers, which do not match {} features, {} outputs and the options ({})",
              checkpoint.path, prefix, numbers, parts.num_features, parts.num_outputs, error.what());
  }
}

}  // namespace

TrainedModel load_trained(const std::string& path, Device device) {
  const models::Checkpoint checkpoint = models::load_checkpoint(path);
  TrainedModel::Parts parts{detail::description_of(checkpoint), detail::family_of(checkpoint), nullptr};
  const char* prefix = checkpoint.integer("best_epoch") >= 0 ? "best." : "model.";
  parts.model = model_of(parts, checkpoint, prefix);
  const std::string& text = checkpoint.text("option.precision");
  const auto precision = value_named<models::Precision>(text);
  if (!precision)
    data_fail("{}: facts@option.precision: '{}', expected float32, tf32 or bfloat16", path, excerpt(text));
  if (*precision == models::Precision::bfloat16) parts.model->to(DType::bf16);
  models::load_weights(*parts.model, checkpoint, prefix);
  parts.model->to(device);
  return TrainedModel(std::move(parts));
}

}  // namespace adj
