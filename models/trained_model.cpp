#include <adjoint/core/error.h>
#include <adjoint/data/loader/graph_loader.h>
#include <adjoint/models/link.h>
#include <adjoint/models/trained_model.h>

#include <numeric>

namespace adj {

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

Tensor TrainedModel::outputs(const Graph& graph, const Features& x) const {
  const auto* node_model = model().as<models::NodeModel>();
  ADJ_CHECK(node_model != nullptr, "{}: a model of {}, not of nodes", origin(),
            of_graphs() ? "graphs (pass their offsets)" : "links (predict_links)");
  const NoGrad no_grad;
  return finish((*node_model)(graph.to(device()), prepare(description().features(graph, x))).value());
}

Tensor TrainedModel::outputs(const Graph& graph, const Tensor& offsets, const Features& x) const {
  const auto* graph_model = model().as<models::GraphModel>();
  ADJ_CHECK(graph_model != nullptr, "{}: a model of {}, not of graphs", origin(),
            of_links() ? "links" : "nodes");
  const NoGrad no_grad;
  const Features features = prepare(description().features(graph, x));
  ADJ_CHECK(offsets && offsets.numel() >= 1, "{}: the offsets of graphs are absent", origin());
  std::vector<int32_t> all(static_cast<size_t>(offsets.numel() - 1));
  std::iota(all.begin(), all.end(), 0);
  const GraphLoader loader(graph.to(device()), offsets.to(device()), make_feature_store(features), {},
                           Tensor::from(all), {.batch_size = graphs_at_once(), .backward = false});
  Tensor raw = Tensor::empty({loader.num_graphs(), num_outputs()}, DType::f32, device());
  int64_t begin = 0;
  for (const GraphBatch& batch : loader.epoch(0)) {
    Tensor rows = raw.rows(begin, begin + batch.size());
    rows.copy_((*graph_model)(batch.graph, batch.offsets, batch.x).value().to(DType::f32));
    begin += batch.size();
  }
  return finish(raw);
}

Tensor TrainedModel::predict_links(const Graph& graph, const Features& x, const EdgeIndex& pairs) const {
  const auto* link_model = model().as<models::LinkModel>();
  ADJ_CHECK(link_model != nullptr, "{}: a model of {}, not of links", origin(),
            of_graphs() ? "graphs" : "nodes");
  const NoGrad no_grad;
  const Graph local = graph.to(device());
  const Tensor z = link_model->encoder()(local, prepare(description().features(graph, x))).value();
  const Relation ends = Relation::from_coo(graph.num_nodes(), graph.num_nodes(), pairs.src.to(device()),
                                           pairs.dst.to(device()));
  const Tensor scores = finish(link_model->scores_of_all(z, ends));
  return scores.reshape({scores.numel()});
}

Predictions TrainedModel::predict(const Graph& graph, const Features& x) const {
  return predictions_of(task(), outputs(graph, x), class_names());
}

Predictions TrainedModel::predict(const Graph& graph, const Tensor& offsets, const Features& x) const {
  return predictions_of(task(), outputs(graph, offsets, x), class_names());
}

}  // namespace adj
