#include "trained_model.h"

#include "feature_place.h"
#include "graphs.h"
#include <adjoint/core/text.h>
#include <adjoint/kernels/index/select.h>
#include <adjoint/nn/pyg_state.h>

namespace adj::apps {

TrainedModel load_checkpoint_model(const std::string& path, Device device) {
  TrainedModel trained = load_trained(path, device);
  if (trained.of_links())
    data_fail(
        "{}: attribute program: written by train_link, expected a program of nodes; train_link scores pairs "
        "itself: --resume {} --predict FILE, with the training's options",
        path, path);
  (void)metric_of(trained.description(), path);
  return trained;
}

TrainedModel load_pyg(const models::ModelFamily& family, const Settings& settings, const std::string& state,
                      const std::map<std::string, std::string>& names, Task task, int64_t features,
                      int64_t outputs, const optim::Preprocessing& preprocessing, Device device) {
  TrainedModel::Parts parts;
  parts.family = family;
  parts.options = settings;
  parts.task = task;
  parts.num_features = features;
  parts.num_outputs = outputs;
  parts.scaling = preprocessing.scaling;
  parts.quantization = preprocessing.quantization;
  parts.class_names = preprocessing.class_names;
  parts.origin = printable(state);
  parts.model = family.make(features, outputs, settings);
  if (is_of_graphs(task) != (dynamic_cast<GraphModel*>(parts.model.get()) != nullptr))
    throw UsageError(fmt::format("--model {}: the task is {}, expected one of {} (--task)", settings.model,
                                 name_of(task), is_of_graphs(task) ? "nodes" : "graphs"));
  nn::load_pyg_state(*parts.model, state, names);
  if (const std::string name = optim::first_not_finite(parts.model->state()); !name.empty())
    data_fail("{}: {} is not finite", state, name);
  parts.model->to(device);
  return TrainedModel(std::move(parts));
}

Metric metric_of(const ModelDescription& model, const std::string& file) {
  const auto wanted = model.facts.find("option.metric");
  try {
    return metric_named(usual_metric(wanted == model.facts.end() ? "auto" : wanted->second, model.task),
                        labels_of(model.task), model.num_outputs);
  } catch (const UsageError& error) {
    data_fail("{}: facts@option.metric: {}", file, error.what());
  }
}

Settings settings_of(const ModelDescription& model) {
  Settings settings;
  static_cast<models::ModelOptions&>(settings) = model.options;
  settings.batch_size = model.graphs_at_once;
  const auto precision = model.facts.find("option.precision");
  if (precision != model.facts.end()) settings.precision = precision->second;
  return settings;
}

const Tensor& labels_for(const ModelDescription& model, const Dataset& data) {
  return model.of_graphs() ? data.graph_y : data.y;
}

Tensor judged(const ModelDescription& model, const Dataset& data) {
  if (!data.splits.empty()) return data.test;
  const Tensor& y = labels_for(model, data);
  if (y.dims() > 1) return {};
  std::vector<int32_t> index;
  const auto labels = y.to_vector<int32_t>();
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels[i] >= 0) index.push_back(static_cast<int32_t>(i));
  return Tensor::from(index, y.device());
}

std::optional<double> measure(const ModelDescription& model, const Metric& metric, const Dataset& data,
                              const Tensor& output) {
  const Tensor& y = labels_for(model, data);
  if (!y) return {};
  if (data.task != model.task || outputs_of(data) != model.num_outputs) {
    log_info("no metric: the labels are {} [{}], the model gives {} [{}]", name_of(data.task),
             data.num_classes(), name_of(model.task), model.num_outputs);
    return {};
  }
  Tensor index = judged(model, data);
  if (!index) {
    index = Tensor::empty({y.size(0)}, DType::i32, y.device());
    kernels::iota({.y = index});
  }
  try {
    return metric.of(output, y, index);
  } catch (const Error& error) {
    log_info("no metric: {}", error.what());
    return {};
  }
}

Tensor run(const TrainedModel& trained, const Dataset& data, const Settings& batches) {
  const NoGrad no_grad;
  Settings settings = settings_of(trained.description());
  if (batches.evaluation == "layers") {
    NodeModel& model = layered(trained.model());
    settings.features = batches.features;
    settings.cached_rows = batches.cached_rows;
    settings.batch_size = batches.batch_size;
    settings.workers = batches.workers;
    return trained.finish(layer_by_layer(model, data.graph, feature_store(data, settings), settings));
  }
  Dataset prepared = data;
  prepared.x = data.x.to(feature_dtype(settings));
  if (auto* of_graphs = dynamic_cast<GraphModel*>(&trained.model()))
    return trained.finish(graph_outputs(*of_graphs, prepared, trained.num_outputs(), settings));
  return trained.finish(dynamic_cast<NodeModel&>(trained.model())(prepared.graph, prepared.x).value());
}

}  // namespace adj::apps
