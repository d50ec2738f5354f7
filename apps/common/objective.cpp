#include "objective.h"

#include <cmath>
#include <limits>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Of two classes: the area under the curve of the margin between their logits.
double two_class_auc(const Tensor& logits, const Tensor& y, const Tensor& index) {
  const std::vector<float> values = logits.to_vector<float>();
  std::vector<double> margin(values.size() / 2);
  for (size_t i = 0; i < margin.size(); ++i)
    margin[i] = static_cast<double>(values[2 * i + 1]) - static_cast<double>(values[2 * i]);
  const Device cpu;
  return nn::roc_auc(Tensor::from(margin), y.to(cpu), index.to(cpu));
}

// The first of a task is its usual one.
const Metric kOfClasses[] = {{"accuracy", "accuracy", "acc", true, 0.0, 1.0, nn::accuracy},
                             {"f1", "macro-F1", "f1", true, 0.0, 1.0, nn::macro_f1}};
const Metric kOfTwoClasses[] = {
    {"auc", "ROC-AUC", "auc", true, 0.0, 1.0, two_class_auc}, kOfClasses[0], kOfClasses[1]};
const Metric kOfLabels[] = {{"auc", "mean ROC-AUC", "auc", true, 0.0, 1.0, nn::mean_roc_auc},
                            {"f1", "micro-F1", "f1", true, 0.0, 1.0, nn::micro_f1}};
const Metric kOfTargets[] = {
    {"r2", "R2", "r2", true, -kInfinity, 1.0, nn::r2},
    {"mae", "mean absolute error", "mae", false, 0.0, kInfinity, nn::mean_absolute_error}};

std::span<const Metric> metrics_of(Labels labels, int64_t outputs) {
  if (labels == Labels::several) return kOfLabels;
  if (labels == Labels::numbers) return kOfTargets;
  if (outputs == 2) return kOfTwoClasses;
  return kOfClasses;
}

/// What messages call such labels.
std::string described(Labels labels, int64_t outputs) {
  if (labels == Labels::classes) return fmt::format("labels of {} classes", outputs);
  return labels == Labels::several ? "several labels" : "regression";
}

/// Why the metric has no value on these examples, whatever the outputs; empty where it has one.
std::string obstacle(const Metric& metric, const Examples& examples, const Tensor& index) {
  try {
    (void)metric.of(Tensor::zeros({examples.size(), examples.outputs}), examples.y, index);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

bool is_trained(Task task) {
  return task == Task::node_class || task == Task::node_multilabel || task == Task::node_regression;
}

bool is_of_graphs(Task task) { return task == Task::graph_class || task == Task::graph_regression; }

Task task_named(const std::string& option, const std::string& name) {
  std::vector<std::string> names;
  for (const Task task : {Task::node_class, Task::node_multilabel, Task::node_regression, Task::graph_class,
                          Task::graph_regression}) {
    if (name == name_of(task)) return task;
    names.emplace_back(name_of(task));
  }
  throw UsageError(fmt::format("--{}: expected {}, got '{}'{}", option, fmt::join(names, " or "), name,
                               did_you_mean(name, names)));
}

int64_t outputs_of(const Dataset& data) {
  if (labels_of(data.task) == Labels::classes) return data.classes;
  return (data.task == Task::graph_regression ? data.graph_y : data.y).size(1);
}

const Metric& metric_among(std::span<const Metric> metrics, const std::string& wanted,
                           const std::string& described) {
  if (wanted == "auto") return metrics.front();
  std::vector<std::string> names;
  for (const Metric& metric : metrics) {
    if (wanted == metric.option) return metric;
    names.push_back(metric.option);
  }
  throw UsageError(fmt::format("--metric: expected {} for {}, got '{}'{}", fmt::join(names, " or "),
                               described, wanted, did_you_mean(wanted, names)));
}

const Metric& metric_named(const std::string& wanted, Labels labels, int64_t outputs) {
  return metric_among(metrics_of(labels, outputs), wanted, described(labels, outputs));
}

const Metric& metric_for(const Examples& examples, const std::string& file, const std::string& wanted,
                         size_t first_split, size_t splits) {
  const Metric& metric =
      metric_named(wanted == "auto" ? examples.auto_metric : wanted, examples.labels, examples.outputs);
  for (size_t k = first_split; k < first_split + splits; ++k) {
    const Split& split = examples.splits.at(k);
    for (const auto& [name, part] : {std::pair("val", &split.val), std::pair("test", &split.test)}) {
      const std::string reason = obstacle(metric, examples, *part);
      if (reason.empty()) continue;
      const std::string place = examples.place(k, name);
      if (wanted != "auto" || examples.labels != Labels::classes)
        data_fail("{}: {}: no {} ({}); another --metric may be defined there", file, place, metric.name,
                  reason);
      log_info("{}: {}: {}; accuracy is taken instead", file, place, reason);
      return metric_named("accuracy", examples.labels, examples.outputs);
    }
  }
  return metric;
}

Objective::Objective(const Examples& examples) : labels_(examples.labels), y_(examples.y) {
  if (labels_ != Labels::numbers) return;
  const std::vector<float> values = examples.y.to_vector<float>();
  const std::vector<int32_t> train = examples.train.to_vector<int32_t>();
  const auto columns = static_cast<size_t>(examples.y.size(1));
  std::vector<float> mean(columns), deviation(columns);
  for (size_t t = 0; t < columns; ++t) {
    const auto target = [&](int32_t i) {
      return static_cast<double>(values[static_cast<size_t>(i) * columns + t]);
    };
    double sum = 0.0, squares = 0.0, count = 0.0;
    for (int32_t i : train) {
      if (std::isnan(target(i))) continue;
      sum += target(i);
      ++count;
    }
    const double center = sum / std::max(count, 1.0);
    for (int32_t i : train)
      if (!std::isnan(target(i))) squares += (target(i) - center) * (target(i) - center);
    mean[t] = static_cast<float>(center);
    deviation[t] = static_cast<float>(std::sqrt(squares / std::max(count, 1.0)));
    if (!(deviation[t] > 0.0f)) deviation[t] = 1.0f;  // constant targets
  }
  mean_ = Tensor::from(mean, examples.y.device());
  deviation_ = Tensor::from(deviation, examples.y.device());
  const NoGrad no_grad;
  y_ = ((Var(examples.y) - Var(mean_)) / Var(deviation_)).value();
}

Objective::Objective(Labels labels, Tensor mean, Tensor deviation)
    : labels_(labels), mean_(std::move(mean)), deviation_(std::move(deviation)) {}

Var Objective::loss(const Var& out, const Tensor& y, const Tensor& index) const {
  if (labels_ == Labels::several) return bce_with_logits(out, y, index);
  if (labels_ == Labels::numbers) return mse_loss(out, y, index);
  return cross_entropy(out, y, index);
}

Var Objective::loss(const Var& out, const Tensor& index) const { return loss(out, y_, index); }
Var Objective::loss_of_batch(const Var& out, const Tensor& y) const { return loss(out, y, {}); }
Var Objective::loss_of_batch(const Var& out, const Tensor& y, const Tensor& index,
                             const Tensor& weight) const {
  if (!weight) return loss(out, y, index);
  if (labels_ == Labels::several) return bce_with_logits_sum(out, y, index, weight);
  if (labels_ == Labels::numbers) return mse_sum(out, y, index, weight);
  return cross_entropy_sum(out, y, index, weight);
}

Tensor Objective::output(const Tensor& out) const {
  const Tensor wide = out.to(DType::f32);
  if (!mean_) return wide;
  const NoGrad no_grad;
  return (Var(wide) * Var(deviation_) + Var(mean_)).value();
}

double Objective::loss_of_output(const Tensor& output, const Tensor& index) const {
  const NoGrad no_grad;
  const Var out(output);
  return loss(mean_ ? (out - Var(mean_)) / Var(deviation_) : out, index).value().item();
}

}  // namespace adj::apps
