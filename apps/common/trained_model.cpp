#include "trained_model.h"

#include <adjoint/data/detail/labels.h>

namespace adj::apps {

using namespace training;

TrainedModel load_checkpoint_model(const std::string& path, Device device) {
  TrainedModel trained = load_trained(path, device);
  if (!trained.of_links()) (void)metric_of(trained.description(), path);
  return trained;
}

Metric metric_of(const ModelDescription& model, const std::string& file) {
  const auto wanted = model.facts.find("option.metric");
  try {
    Metric metric =
        metric_named(usual_metric(wanted == model.facts.end() ? "auto" : wanted->second, model.task),
                     labels_of(model.task), model.num_outputs);
    if (labels_of(model.task) == Labels::classes) metric.name_class(model.class_names);
    return metric;
  } catch (const UsageError& error) {
    data_fail("{}: facts@option.metric: {}", file, error.what());
  }
}

ExecutionOptions execution_options_of(const ModelDescription& model) {
  ExecutionOptions options;
  const auto precision = model.facts.find("option.precision");
  if (precision != model.facts.end())
    options.precision = value_named<models::Precision>(precision->second).value();
  return options;
}

namespace {

/// Says if edges go in one direction here and went in both in the training, or the reverse.
void compare_directions(const Dataset& data, const std::string& file, const ModelDescription& model) {
  const auto fact = model.facts.find("undirected");
  if (fact == model.facts.end() || data.graph.num_edges() == 0) return;
  if (fact->second == "0" && data.undirected)
    log_warning("{}: an undirected graph, {} was trained on a directed one", file, model.origin);
  if (fact->second == "1" && !data.undirected && !data.graph.is_symmetric())
    log_warning("{}: a directed graph, {} was trained on an undirected one (convert --undirected)", file,
                model.origin);
}

}  // namespace

void match_names(Dataset& data, const std::string& file, const ModelDescription& model) {
  if (!model.types) compare_directions(data, file, model);
  if (!model.types)  // others are matched by type
    match_features(data, file, model.feature_names, model.encoder, model.origin);
  if (model.edges.attributes > 0)
    match_attributes(data, file, model.attr_names, model.attr_encoder, model.origin);
  if (data.task == model.task) match_classes(data, file, model.class_names, model.num_outputs, model.origin);
}

size_t split_of_training(const ModelDescription& model, const Dataset& data, const std::string& file) {
  const auto number = [&](const char* name) {
    const auto fact = model.facts.find(name);
    return fact == model.facts.end() ? std::nullopt : number_in<int64_t>(fact->second);
  };
  const auto option = model.facts.find("option.split");
  const int64_t count = std::ssize(data.splits);
  std::optional<int64_t> trained = number("option.split");
  if (option != model.facts.end() && option->second == "all")
    if (const auto run = number("run")) trained = *run % count;  // run r is on split r modulo their number
  const int64_t wanted = trained.value_or(0);
  if (wanted < 0 || wanted >= count) {
    log_info("split 0: {} has no split {}, on which {} was trained", file, wanted, model.origin);
    return 0;
  }
  if (count > 1) log_info("split {} of 0 to {}{}", wanted, count - 1, trained ? ", as in the training" : "");
  return static_cast<size_t>(wanted);
}

bool has_training_split(const ModelDescription& model, Dataset data, const Graph& whole) {
  constexpr std::string_view kMark = ", contents ";
  constexpr size_t kLength = kMark.size() + 16;
  const auto fact = model.facts.find("dataset"), run = model.facts.find("run");
  if (fact == model.facts.end()) return true;
  std::vector<std::string> contents;  // by split of the training
  for (size_t k = fact->second.find(kMark); k != std::string::npos; k = fact->second.find(kMark, k + kLength))
    contents.push_back(fact->second.substr(k, kLength));
  if (contents.empty()) return true;
  const auto number = run == model.facts.end() ? std::nullopt : number_in<size_t>(run->second);
  data.graph = whole;
  return fingerprint(data).ends_with(contents[number.value_or(0) % contents.size()]);
}

const Tensor& labels_for(const ModelDescription& model, const Dataset& data) {
  return model.of_graphs() ? data.graph_y : model.of_edges() ? data.edge_y : data.y;
}

Tensor judged(const ModelDescription& model, const Dataset& data) {
  if (!data.splits.empty()) return data.test;
  const Tensor& y = labels_for(model, data);
  const Tensor labels = y.to(Device::cpu());
  std::vector<int32_t> index;
  for (int32_t i = 0; i < labels.size(0); ++i)
    if (detail::is_labelled(labels, i)) index.push_back(i);
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
  const Tensor index = judged(model, data);
  if (index.numel() == 0) {
    log_info("no metric: no {} with a label to test", model.things());
    return {};
  }
  if (const std::string columns = columns_left_out(metric, y, index, model.class_names); !columns.empty())
    log_info("{}: undefined for some columns, which the mean leaves out: {}", metric.name, columns);
  try {
    return metric.measure(output, y, index);
  } catch (const Error& error) {
    log_info("no metric: {}", error.what());
    return {};
  }
}

Tensor run(const TrainedModel& trained, const Dataset& data, const BatchOptions& batches) {
  const NoGrad no_grad;
  const DType dtype = execution_options_of(trained.description()).dtype();
  const int workers = batches.num_workers(data.device().str());
  const auto* pairs = trained.model().as<models::PairModel>();
  auto* nodes = pairs != nullptr ? &pairs->encoder() : trained.model().as<models::NodeModel>();
  const auto decoded = [&](const Tensor& raw) {
    const auto* edges = trained.model().as<models::EdgeModel>();
    return trained.finish(edges != nullptr ? edges->outputs_of_all(raw, data.graph) : raw);
  };
  if (batches.evaluation == EvaluationMethod::layers) {
    require_layers(trained.model());
    return decoded(layer_by_layer(*nodes, data.graph, feature_store(data, batches, dtype),
                                  {.batch_size = batches.batch_size, .workers = workers}));
  }
  const Features x = data.x.to(dtype);
  if (auto* of_graphs = trained.model().as<models::GraphModel>())
    return trained.finish(
        graph_outputs(*of_graphs, data, x, trained.num_outputs(), trained.graphs_at_once(), workers));
  return decoded((*nodes)(data.graph, x).value());
}

}  // namespace adj::apps
