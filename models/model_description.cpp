#include <adjoint/autograd/arithmetic.h>
#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/dataset_splits.h>
#include <adjoint/models/model_description.h>
#include <adjoint/models/node_features.h>
#include <adjoint/models/positional_encoding.h>
#include <adjoint/models/training_types.h>
#include <adjoint/optim/non_finite.h>

#include <algorithm>
#include <limits>

#include <fmt/ranges.h>

namespace adj {

namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

/// Task of a model of nodes, graphs or edges; none for links.
Task task_of(const models::Checkpoint& checkpoint) {
  const std::string& name = checkpoint.text("task");
  if (name == "link") return Task::none;
  for (const Task task : {Task::node_class, Task::node_multilabel, Task::node_regression, Task::graph_class,
                          Task::graph_regression, Task::edge_class, Task::edge_regression})
    if (name == name_of(task)) return task;
  data_fail("{}: facts@task: '{}', expected a task of nodes, graphs, edges or links", checkpoint.path,
            excerpt(name));
}

models::ModelOptions options_of(const models::Checkpoint& checkpoint, const models::ModelFamily& family) {
  const std::vector<models::ModelOption> named = family.all_options();
  constexpr std::string_view kPrefix = "option.";
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : checkpoint.facts)
    if (name.starts_with(kPrefix)) values.emplace(name.substr(kPrefix.size()), value);
  if (family.models.size() > 1) values.try_emplace("model", family.models.front());  // its only one before
  for (const models::ModelOption& option : named)
    if (values.count(option.name) == 0 && !option.before.empty())
      values.emplace(option.name, option.before);
    else if (values.count(option.name) == 0)
      data_fail("{}: facts@option.{}: missing", checkpoint.path, option.name);
  models::ModelOptions options;
  options.model = family.models.front();
  try {
    read_options(options, named, values);
    family.check(options);
  } catch (const UsageError& error) {
    data_fail("{}: facts: {}", checkpoint.path, error.what());
  }
  return options;
}

/// float32 [T].
Tensor row_of(const models::Checkpoint& checkpoint, const std::string& name, int64_t outputs) {
  const Tensor& row = checkpoint.tensor(name);
  if (row.shape() != Shape{outputs} || row.dtype() != DType::f32)
    data_fail("{}: tensors/{}: {}, expected [{}] float32", checkpoint.path, name, row.str(), outputs);
  if (!optim::first_not_finite({{name, row}}).empty())
    data_fail("{}: tensors/{}: not finite", checkpoint.path, name);
  return row;
}

}  // namespace

std::string_view ModelDescription::things() const {
  return task == Task::none ? "links" : word_for_split_items(task);
}

Features ModelDescription::features(const Graph& graph, const Features& x) const {
  const models::NodeFeatures kind = options.node_features;
  if (kind == models::NodeFeatures::file) return x;
  if (kind == models::NodeFeatures::learned) {
    const auto trained_on = facts.find("graph");
    ADJ_CHECK(trained_on != facts.end() && trained_on->second == models::fingerprint(graph),
              "another graph than that of the training, whose nodes have the learned features; expected the "
              "same one, or a training with --node-features degree");
  }
  return models::node_features(kind, graph, num_features);
}

Features ModelDescription::prepare(const Features& x) const {
  ADJ_CHECK(x && x.cols() == num_features, "{}: {} features per node, expected {}", origin, x ? x.cols() : 0,
            num_features);
  return quantization.apply(scaling.apply(x));
}

Graph ModelDescription::prepare(const Graph& graph) const {
  try {
    return edges.apply(graph);
  } catch (const Error& error) {
    fail("{}: {}", origin, error.what());
  }
}

Tensor ModelDescription::finish(const Tensor& raw) const {
  const NoGrad no_grad;
  Tensor outputs = raw.to(DType::f32);
  if (target_mean)
    outputs = (Var(outputs) * Var(target_scale.to(raw.device())) + Var(target_mean.to(raw.device()))).value();
  if (!optim::first_not_finite({{"outputs", outputs}}).empty())
    fail("{}: the model's outputs are not finite", origin);
  return outputs;
}

namespace detail {

models::ModelFamily family_of(const models::Checkpoint& checkpoint) {
  std::vector<std::string> programs;
  for (models::ModelFamily& family : models::families()) {
    if (family.program == checkpoint.program) return std::move(family);
    programs.push_back(family.program);
  }
  data_fail("{}: attribute program: written by {}, expected {}", checkpoint.path, excerpt(checkpoint.program),
            fmt::join(programs, " or "));
}

ModelDescription description_of(const models::Checkpoint& checkpoint) {
  const models::ModelFamily family = family_of(checkpoint);
  ModelDescription d;
  d.program = checkpoint.program;
  d.options = options_of(checkpoint, family);
  d.task = task_of(checkpoint);
  if (d.of_graphs() != d.program.starts_with("train_graph_") || d.of_edges() != (d.program == "train_edge") ||
      (d.task == Task::none) != (d.program == "train_link"))
    data_fail("{}: facts@task: '{}', which {} does not train", checkpoint.path, checkpoint.text("task"),
              d.program);
  const bool encoded = models::positional_columns(d.options) > 0;
  const bool typed = family.is_typed(d.options);
  d.num_features = checkpoint.integer("features", typed || encoded ? 0 : 1, kMost);
  d.num_outputs = checkpoint.integer("outputs", 1, kMost);
  static_cast<models::Preprocessing&>(d) = models::Preprocessing::load(checkpoint);
  if (typed != (d.types != nullptr))
    data_fail("{}: tensors/types: {}", checkpoint.path, typed ? "missing" : "of another model");
  if (typed && (d.task == Task::none) != d.types->link.has_value())
    data_fail("{}: tensors/types: link: {}", checkpoint.path,
              d.task == Task::none ? "missing" : "of a model of links");
  if (d.types) d.options.types.schema = {d.types, &d.types->schema};
  d.options.edge_dim = d.edges.width();
  const int64_t best = checkpoint.integer("best_epoch", -1, kMost);
  d.origin = fmt::format("{}, epoch {}", checkpoint.program,
                         best < 0 ? checkpoint.integer("epoch", 0, kMost) : best);
  if (has_targets(d.task)) {
    d.target_mean = row_of(checkpoint, "targets.mean", d.num_outputs);
    d.target_scale = row_of(checkpoint, "targets.deviation", d.num_outputs);
  }
  if (d.of_graphs()) d.graphs_at_once = checkpoint.integer("option.batch-size", 1, kMost);
  d.facts = checkpoint.facts;
  return d;
}

}  // namespace detail

}  // namespace adj
