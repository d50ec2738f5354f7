#include "trained_model.h"

#include "../models/models.h"
#include "feature_place.h"
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
    if (program.name == checkpoint.program) return std::move(program);
    names.push_back(program.name);
  }
  data_fail("{}: attribute program: written by {}, expected {}", checkpoint.path, excerpt(checkpoint.program),
            fmt::join(names, " or "));
}

Task task_of(const optim::Checkpoint& checkpoint) {
  const auto fact = checkpoint.facts.find("task");
  if (fact == checkpoint.facts.end()) data_fail("{}: facts@task: missing", checkpoint.path);
  for (const Task task : {Task::node_class, Task::node_multilabel, Task::node_regression})
    if (fact->second == name_of(task)) return task;
  data_fail("{}: facts@task: '{}', expected a task of nodes", checkpoint.path, excerpt(fact->second));
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
  try {
    trained.metric = metric_named(trained.settings.metric, labels_of(trained.task), trained.outputs);
  } catch (const UsageError& error) {
    data_fail("{}: facts@option.metric: {}", path, error.what());
  }
  const int64_t best = checkpoint.integer("best_epoch", -1, kMost);
  const int64_t epoch = best < 0 ? checkpoint.integer("epoch", 0, kMost) : best;
  trained.origin = fmt::format("{}, epoch {}", program.name, epoch);
  trained.model = make_node_model(program, trained.features, trained.outputs, trained.settings);
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
  if (trained.task == Task::node_regression) {
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
  trained.metric = metric_named("auto", labels_of(task), outputs);
  trained.features = features;
  trained.outputs = outputs;
  trained.origin = printable(state);
  trained.model = make_node_model(program, features, outputs, settings);
  nn::load_pyg_state(*trained.model, state, names);
  if (const std::string name = optim::first_not_finite(trained.model->state()); !name.empty())
    data_fail("{}: {} is not finite", state, name);
  trained.model->to(device);
  trained.model->eval();
  return trained;
}

void TrainedModel::require_layers(const Settings& batches) const {
  if (batches.evaluation == "layers" && model->num_layers() == 0)
    throw UsageError(fmt::format("--evaluation layers: {} needs the whole graph, expected --evaluation graph",
                                 model->describe()));
}

Tensor TrainedModel::run(const Dataset& data, const Settings& batches) const {
  const NoGrad no_grad;
  require_layers(batches);
  const auto logits = [&] {
    if (batches.evaluation == "graph")
      return (*model)(data.graph, data.x.to(feature_dtype(settings))).value();
    Settings how = settings;  // of the precision that the model has
    how.features = batches.features;
    how.cached_rows = batches.cached_rows;
    how.batch_size = batches.batch_size;
    how.workers = batches.workers;
    return layer_by_layer(*model, data.graph, feature_source(data, how), how);
  };
  const Tensor output = objective.output(logits());
  if (!optim::first_not_finite({{"output", output}}).empty())
    fail("{}: what the model gives for {} is not finite", origin, printable(data.name));
  return output;
}

}  // namespace adj::apps
