#include "trained_model.h"

#include "../models/models.h"
#include "feature_place.h"
#include "graphs.h"
#include "options.h"
#include <adjoint/core/text.h>
#include <adjoint/nn/pyg_state.h>

#include <limits>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

Program program_of(const optim::Checkpoint& checkpoint) {
  std::vector<std::string> names;
  for (Program& program : all_programs()) {
    if (program.name() == checkpoint.program) return std::move(program);
    names.push_back(program.name());
  }
  if (checkpoint.program == train_link().name())
    data_fail(
        "{}: attribute program: written by train_link, expected a program of nodes; train_link scores pairs "
        "itself: "
        "--resume {} --predict FILE, with the training's options",
        checkpoint.path, checkpoint.path);
  data_fail("{}: attribute program: written by {}, expected {}", checkpoint.path, excerpt(checkpoint.program),
            fmt::join(names, " or "));
}

Task task_of(const optim::Checkpoint& checkpoint) {
  const auto fact = checkpoint.facts.find("task");
  if (fact == checkpoint.facts.end()) data_fail("{}: facts@task: missing", checkpoint.path);
  for (const Task task : {Task::node_class, Task::node_multilabel, Task::node_regression, Task::graph_class,
                          Task::graph_regression})
    if (fact->second == name_of(task)) return task;
  data_fail("{}: facts@task: '{}', expected a task of nodes or graphs", checkpoint.path,
            excerpt(fact->second));
}

/// float32 [T] on the device.
Tensor row_of(const optim::Checkpoint& checkpoint, const std::string& name, int64_t outputs, Device device) {
  const auto found = checkpoint.tensors.find(name);
  if (found == checkpoint.tensors.end()) data_fail("{}: tensors/{}: missing", checkpoint.path, name);
  const Tensor& row = found->second;
  if (row.shape() != Shape{outputs} || row.dtype() != DType::f32)
    data_fail("{}: tensors/{}: {}, expected [{}] float32", checkpoint.path, name, row.str(), outputs);
  if (!optim::first_not_finite({{name, row}}).empty())
    data_fail("{}: tensors/{}: not finite", checkpoint.path, name);
  return row.to(device);
}

}  // namespace

TrainedModel load_trained(const std::string& path, Device device) {
  const optim::Checkpoint checkpoint = optim::load_checkpoint(path);
  const Program program = program_of(checkpoint);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  TrainedModel trained;
  trained.settings = read_facts(program, checkpoint);
  trained.task = task_of(checkpoint);
  trained.features = checkpoint.integer("features", 1, kMost);
  trained.outputs = checkpoint.integer("outputs", 1, kMost);
  trained.preprocessing = optim::Preprocessing::load(checkpoint);
  try {
    trained.metric = metric_named(usual_metric(trained.settings.metric, trained.task),
                                  labels_of(trained.task), trained.outputs);
  } catch (const UsageError& error) {
    data_fail("{}: facts@option.metric: {}", path, error.what());
  }
  const int64_t best = checkpoint.integer("best_epoch", -1, kMost);
  const int64_t epoch = best < 0 ? checkpoint.integer("epoch", 0, kMost) : best;
  trained.origin = fmt::format("{}, epoch {}", program.name(), epoch);
  trained.model = program.family.make(trained.features, trained.outputs, trained.settings);
  if (trained.of_graphs() != (dynamic_cast<GraphModel*>(trained.model.get()) != nullptr))
    data_fail("{}: facts@task: '{}', expected a task of {}, which {} trains", path, name_of(trained.task),
              trained.of_graphs() ? "nodes" : "graphs", program.name());
  trained.model->to(feature_dtype(trained.settings));
  const std::string prefix = best < 0 ? "model." : "best.";
  try {
    trained.model->load_state(checkpoint.with_prefix(prefix));
  } catch (const Error& error) {
    data_fail("{}: tensors/{}*: {}", path, prefix, error.what());
  }
  if (const std::string name = optim::first_not_finite(trained.model->state()); !name.empty())
    data_fail("{}: tensors/{}{}: not finite", path, prefix, name);
  trained.model->to(device);
  trained.model->eval();
  if (labels_of(trained.task) == Labels::numbers) {
    const Tensor mean = row_of(checkpoint, "targets.mean", trained.outputs, device);
    const Tensor deviation = row_of(checkpoint, "targets.deviation", trained.outputs, device);
    trained.objective = Objective(labels_of(trained.task), mean, deviation);
  }
  return trained;
}

TrainedModel load_pyg(const Program& program, const Settings& settings, const std::string& state,
                      const std::map<std::string, std::string>& names, Task task, int64_t features,
                      int64_t outputs, Device device) {
  TrainedModel trained;
  trained.settings = settings;
  trained.task = task;
  trained.metric = metric_named(usual_metric("auto", task), labels_of(task), outputs);
  trained.features = features;
  trained.outputs = outputs;
  trained.origin = printable(state);
  trained.model = program.family.make(features, outputs, settings);
  if (trained.of_graphs() != (dynamic_cast<GraphModel*>(trained.model.get()) != nullptr))
    throw UsageError(fmt::format("--model {}: the task is {}, expected one of {} (--task)", settings.model,
                                 name_of(task), trained.of_graphs() ? "nodes" : "graphs"));
  nn::load_pyg_state(*trained.model, state, names);
  if (const std::string name = optim::first_not_finite(trained.model->state()); !name.empty())
    data_fail("{}: {} is not finite", state, name);
  trained.model->to(device);
  trained.model->eval();
  return trained;
}

void TrainedModel::require_layers(const Settings& batches) const {
  if (batches.evaluation != "layers") return;
  const auto* of_nodes = dynamic_cast<const NodeModel*>(model.get());
  if (of_nodes == nullptr || of_nodes->num_layers() == 0)
    throw UsageError(fmt::format("--evaluation layers: {} needs whole graphs, expected --evaluation graph",
                                 model->describe()));
}

Tensor TrainedModel::logits(const Dataset& data, const Settings& batches) const {
  if (batches.evaluation == "layers") {
    Settings how = settings;  // of the precision that the model has
    how.features = batches.features;
    how.cached_rows = batches.cached_rows;
    how.batch_size = batches.batch_size;
    how.workers = batches.workers;
    return layer_by_layer(dynamic_cast<NodeModel&>(*model), data.graph, feature_source(data, how), how);
  }
  Dataset prepared = data;
  prepared.x = data.x.to(feature_dtype(settings));
  if (auto* of_graphs = dynamic_cast<GraphModel*>(model.get()))
    return graph_outputs(*of_graphs, prepared, outputs, settings);
  return dynamic_cast<NodeModel&>(*model)(prepared.graph, prepared.x).value();
}

Tensor TrainedModel::run(const Dataset& data, const Settings& batches) const {
  const NoGrad no_grad;
  require_layers(batches);
  const Tensor output = objective.output(logits(data, batches));
  if (!optim::first_not_finite({{"output", output}}).empty())
    fail("{}: what the model gives for {} is not finite", origin, printable(data.name));
  return output;
}

}  // namespace adj::apps
