#include "trained_model.h"

#include "link.h"
#include "node_features.h"
#include <adjoint/core/error.h>
#include <adjoint/data/loader/graph_loader.h>

#include <numeric>

namespace adj {

struct TrainedModel::Impl : Parts {
  models::NodeModel* of_nodes = nullptr;
  models::GraphModel* of_graphs = nullptr;
  models::LinkModel* of_links = nullptr;
};

TrainedModel::TrainedModel(Parts parts) {
  auto impl = std::make_shared<Impl>(Impl{std::move(parts)});
  impl->program = impl->family.program;
  impl->name = impl->model->describe();
  impl->model->eval();
  impl->of_nodes = dynamic_cast<models::NodeModel*>(impl->model.get());
  impl->of_graphs = dynamic_cast<models::GraphModel*>(impl->model.get());
  impl->of_links = dynamic_cast<models::LinkModel*>(impl->model.get());
  impl_ = std::move(impl);
}

const ModelDescription& TrainedModel::description() const { return *impl_; }
bool TrainedModel::of_graphs() const { return impl_->of_graphs != nullptr; }
bool TrainedModel::of_links() const { return impl_->of_links != nullptr; }
Device TrainedModel::device() const { return impl_->model->parameters().front().device(); }
models::Model& TrainedModel::model() const { return *impl_->model; }

Features TrainedModel::prepare(const Features& x) const {
  return impl_->prepare(x ? x.to(device()) : x).to(impl_->model->parameters().front().dtype());
}

Tensor TrainedModel::outputs(const Graph& graph, const Features& x) const {
  ADJ_CHECK(impl_->of_nodes != nullptr, "{}: a model of {}, not of nodes", origin(),
            of_graphs() ? "graphs, whose offsets it needs" : "links (predict_links)");
  const NoGrad no_grad;
  return finish((*impl_->of_nodes)(graph.to(device()), prepare(x)).value());
}

Tensor TrainedModel::outputs(const Graph& graph, const Tensor& offsets, const Features& x) const {
  ADJ_CHECK(of_graphs(), "{}: a model of {}, not of graphs", origin(), of_links() ? "links" : "nodes");
  const NoGrad no_grad;
  const std::string& own = options().node_features;
  const Features features =
      prepare(own == "file" ? x : models::node_features(own, graph, own == "degree" ? num_features() : 0));
  ADJ_CHECK(offsets && offsets.numel() >= 1, "{}: offsets of graphs: absent", origin());
  std::vector<int32_t> all(static_cast<size_t>(offsets.numel() - 1));
  std::iota(all.begin(), all.end(), 0);
  const GraphLoader loader(graph.to(device()), offsets.to(device()), make_feature_store(features), {},
                           Tensor::from(all), {.batch_size = impl_->graphs_at_once, .backward = false});
  Tensor raw = Tensor::empty({loader.num_graphs(), num_outputs()}, DType::f32, device());
  int64_t at = 0;
  for (const GraphBatch& batch : loader.epoch(0)) {
    Tensor rows = raw.rows(at, at + batch.size());
    rows.copy_((*impl_->of_graphs)(batch.graph, batch.offsets, batch.x).value().to(DType::f32));
    at += batch.size();
  }
  return finish(raw);
}

Tensor TrainedModel::predict_links(const Graph& graph, const Features& x, const EdgeIndex& pairs) const {
  ADJ_CHECK(of_links(), "{}: a model of {}, not of links", origin(), of_graphs() ? "graphs" : "nodes");
  const NoGrad no_grad;
  const Graph here = graph.to(device());
  const Tensor z = impl_->of_links->encoder()(here, prepare(x)).value();
  const Relation ends = Relation::from_coo(graph.num_nodes(), graph.num_nodes(), pairs.src.to(device()),
                                           pairs.dst.to(device()));
  const Tensor scores = finish(impl_->of_links->scores_of_all(z, ends));
  return scores.reshape({scores.numel()});
}

Predictions TrainedModel::predict(const Graph& graph, const Features& x) const {
  return predictions_of(task(), outputs(graph, x), class_names());
}

Predictions TrainedModel::predict(const Graph& graph, const Tensor& offsets, const Features& x) const {
  return predictions_of(task(), outputs(graph, offsets, x), class_names());
}

}  // namespace adj
