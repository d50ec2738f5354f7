#include <adjoint/core/log.h>
#include <adjoint/core/option_check.h>
#include <adjoint/nn/metrics/metrics.h>
#include <adjoint/training/metric.h>

#include <limits>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// For two classes: area under the ROC curve of the difference of their logits.
double two_class_auc(const Tensor& logits, const Tensor& y, const Tensor& index) {
  const std::vector<float> values = logits.to_vector<float>();
  std::vector<double> margin(values.size() / 2);
  for (size_t i = 0; i < margin.size(); ++i)
    margin[i] = static_cast<double>(values[2 * i + 1]) - static_cast<double>(values[2 * i]);
  const Device cpu;
  return nn::roc_auc(Tensor::from(margin), y.to(cpu), index.to(cpu));
}

// The first of each kind is the default.
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

/// Name of such labels in messages.
std::string described(Labels labels, int64_t outputs) {
  if (labels == Labels::classes) return fmt::format("labels of {} classes", outputs);
  return labels == Labels::several ? "several labels" : "regression";
}

/// Reason why the metric is undefined on these examples for any outputs; empty if it is defined.
std::string obstacle(const Metric& metric, const Examples& examples, const Tensor& index) {
  try {
    (void)metric.measure(Tensor::zeros({examples.size(), examples.outputs}), examples.y, index);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

const Metric& metric_among(std::span<const Metric> metrics, const std::string& wanted,
                           const std::string& described) {
  if (wanted == "auto") return metrics.front();
  std::vector<std::string> names;
  for (const Metric& metric : metrics) {
    if (wanted == metric.option) return metric;
    names.push_back(metric.option);
  }
  usage_fail("--metric: expected {} for {}, got '{}'{}", fmt::join(names, " or "), described, wanted,
             did_you_mean(wanted, names));
}

const Metric& metric_named(const std::string& wanted, Labels labels, int64_t outputs) {
  return metric_among(metrics_of(labels, outputs), wanted, described(labels, outputs));
}

std::optional<bool> higher_is_better(const std::string& option) {
  for (const std::span<const Metric> metrics :
       {std::span<const Metric>(kOfTwoClasses), {kOfLabels}, {kOfTargets}})
    for (const Metric& metric : metrics)
      if (metric.option == option) return metric.higher_is_better;
  return {};
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
      log_info("{}: {}: {}; accuracy is used instead", file, place, reason);
      return metric_named("accuracy", examples.labels, examples.outputs);
    }
  }
  return metric;
}

}  // namespace adj::training
