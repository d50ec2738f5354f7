#include "trained_model.h"
#include <adjoint/core/error.h>
#include <adjoint/core/random.h>
#include <adjoint/core/text.h>
#include <adjoint/optim/checkpoint.h>
#include <adjoint/optim/finite.h>
#include <adjoint/optim/preprocessing.h>

#include <limits>

#include <fmt/ranges.h>

namespace adj {

namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

models::ModelFamily family_of(const optim::Checkpoint& checkpoint) {
  std::vector<std::string> programs;
  for (models::ModelFamily& family : models::families()) {
    if (family.program == checkpoint.program) return std::move(family);
    programs.push_back(family.program);
  }
  data_fail("{}: attribute program: written by {}, expected {}", checkpoint.path, excerpt(checkpoint.program),
            fmt::join(programs, " or "));
}

const std::string& fact(const optim::Checkpoint& checkpoint, const std::string& name) {
  const auto found = checkpoint.facts.find(name);
  if (found == checkpoint.facts.end()) data_fail("{}: facts@{}: missing", checkpoint.path, name);
  return found->second;
}

/// A task of nodes or graphs; none of links.
Task task_of(const optim::Checkpoint& checkpoint) {
  const std::string& name = fact(checkpoint, "task");
  if (name == "link") return Task::none;
  for (const Task task : {Task::node_class, Task::node_multilabel, Task::node_regression, Task::graph_class,
                          Task::graph_regression})
    if (name == name_of(task)) return task;
  data_fail("{}: facts@task: '{}', expected a task of nodes, graphs or links", checkpoint.path,
            excerpt(name));
}

models::ModelOptions options_of(const optim::Checkpoint& checkpoint, const models::ModelFamily& family) {
  std::vector<std::string> names = family.options;
  names.insert(names.end(), {"hidden", "layers", "dropout"});
  if (family.models.size() > 1) names.push_back("model");
  constexpr std::string_view kPrefix = "option.";
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : checkpoint.facts)
    if (name.starts_with(kPrefix)) values.emplace(name.substr(kPrefix.size()), value);
  for (const std::string& name : names)
    if (values.count(name) == 0) data_fail("{}: facts@option.{}: missing", checkpoint.path, name);
  models::ModelOptions options;
  options.model = family.models.front();
  try {
    read_options(options, names, values);
    family.check(options);
  } catch (const UsageError& error) {
    data_fail("{}: facts: {}", checkpoint.path, error.what());
  }
  return options;
}

/// float32 [T].
Tensor row_of(const optim::Checkpoint& checkpoint, const std::string& name, int64_t outputs) {
  const auto found = checkpoint.tensors.find(name);
  if (found == checkpoint.tensors.end()) data_fail("{}: tensors/{}: missing", checkpoint.path, name);
  const Tensor& row = found->second;
  if (row.shape() != Shape{outputs} || row.dtype() != DType::f32)
    data_fail("{}: tensors/{}: {}, expected [{}] float32", checkpoint.path, name, row.str(), outputs);
  if (!optim::first_not_finite({{name, row}}).empty())
    data_fail("{}: tensors/{}: not finite", checkpoint.path, name);
  return row;
}

/// Weights take the place of initial ones, whose draws leave no trace.
class InitialWeights {
 public:
  InitialWeights() : seed_(default_generator().seed()), position_(default_generator().position()) {}
  ~InitialWeights() { default_generator().set_state(seed_, position_); }
  InitialWeights(const InitialWeights&) = delete;
  InitialWeights& operator=(const InitialWeights&) = delete;

 private:
  uint64_t seed_, position_;
};

}  // namespace

TrainedModel load_trained(const std::string& path, Device device) {
  optim::Checkpoint checkpoint = optim::load_checkpoint(path);
  TrainedModel::Parts parts;
  parts.family = family_of(checkpoint);
  parts.options = options_of(checkpoint, parts.family);
  parts.task = task_of(checkpoint);
  parts.num_features = checkpoint.integer("features", 1, kMost);
  parts.num_outputs = checkpoint.integer("outputs", 1, kMost);
  optim::Preprocessing preprocessing = optim::Preprocessing::load(checkpoint);
  parts.scaling = preprocessing.scaling;
  parts.quantization = preprocessing.quantization;
  parts.class_names = std::move(preprocessing.class_names);
  const int64_t best = checkpoint.integer("best_epoch", -1, kMost);
  parts.origin = fmt::format("{}, epoch {}", checkpoint.program,
                             best < 0 ? checkpoint.integer("epoch", 0, kMost) : best);
  {
    const InitialWeights replaced;
    parts.model = parts.family.make(parts.num_features, parts.num_outputs, parts.options);
  }
  const bool of_graphs = parts.task == Task::graph_class || parts.task == Task::graph_regression;
  if (of_graphs != (dynamic_cast<models::GraphModel*>(parts.model.get()) != nullptr) ||
      (parts.task == Task::none) != (checkpoint.program == "train_link"))
    data_fail("{}: facts@task: '{}', which is none that {} trains", path, fact(checkpoint, "task"),
              checkpoint.program);
  const std::string& precision = fact(checkpoint, "option.precision");
  if (precision != "float32" && precision != "tf32" && precision != "bfloat16")
    data_fail("{}: facts@option.precision: '{}', expected float32, tf32 or bfloat16", path,
              excerpt(precision));
  if (precision == "bfloat16") parts.model->to(DType::bf16);
  optim::load_weights(*parts.model, checkpoint, best < 0 ? "model." : "best.");
  parts.model->to(device);
  if (parts.task == Task::node_regression || parts.task == Task::graph_regression) {
    parts.target_mean = row_of(checkpoint, "targets.mean", parts.num_outputs).to(device);
    parts.target_scale = row_of(checkpoint, "targets.deviation", parts.num_outputs).to(device);
  }
  if (of_graphs) parts.graphs_at_once = checkpoint.integer("option.batch-size", 1, kMost);
  parts.facts = std::move(checkpoint.facts);
  return TrainedModel(std::move(parts));
}

}  // namespace adj
