#include <adjoint/core/log.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/split_columns.h>
#include <adjoint/nn/metrics/metrics.h>
#include <adjoint/training/metric.h>

#include <algorithm>
#include <limits>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// measure(margins, labels, index) of two classes, by the difference of their logits, on the CPU.
template <class F>
auto by_margin(F measure) {
  return [measure](const Tensor& logits, const Tensor& y, const Tensor& index) {
    const std::vector<float> values = logits.to_vector<float>();
    std::vector<double> margin(values.size() / 2);
    for (size_t i = 0; i < margin.size(); ++i)
      margin[i] = static_cast<double>(values[2 * i + 1]) - static_cast<double>(values[2 * i]);
    const Device cpu;
    return measure(Tensor::from(margin), y.to(cpu), index.to(cpu));
  };
}

// The first of each kind is the default.
const Metric kOfClasses[] = {{"accuracy", "accuracy", "acc", true, 0.0, 1.0, nn::accuracy},
                             {"f1", "macro-F1", "f1", true, 0.0, 1.0, nn::macro_f1}};
const Metric kOfTwoClasses[] = {
    {"auc", "ROC-AUC", "auc", true, 0.0, 1.0, by_margin(nn::roc_auc)},
    kOfClasses[0],
    kOfClasses[1],
    {"pr-auc", "average precision", "pr_auc", true, 0.0, 1.0, by_margin(nn::average_precision)}};
const Metric kOfLabels[] = {
    {"auc", "mean ROC-AUC", "auc", true, 0.0, 1.0, nn::mean_roc_auc},
    {"f1", "micro-F1", "f1", true, 0.0, 1.0, nn::micro_f1},
    {"pr-auc", "mean average precision", "pr_auc", true, 0.0, 1.0, nn::mean_average_precision}};
const Metric kOfTargets[] = {
    {"r2", "R2", "r2", true, -kInfinity, 1.0, nn::r2},
    {"mae", "mean absolute error", "mae", false, 0.0, kInfinity, nn::mean_absolute_error}};

// Metrics of two classes with a number.
constexpr std::string_view kRecallAtPrecision = "recall@precision=", kRecallAt = "recall@",
                           kPrecisionAt = "precision@";

/// Absent if the text begins as none of them. Throws UsageError for a number out of range.
std::optional<Metric> numbered_metric(const std::string& wanted) {
  const auto after = [&](std::string_view prefix) { return std::string_view(wanted).substr(prefix.size()); };
  if (wanted.starts_with(kRecallAtPrecision)) {
    const auto precision = number_in<double>(after(kRecallAtPrecision));
    if (!precision || !(*precision > 0.0 && *precision <= 1.0))
      usage_fail("--metric: expected {}P with P above 0, at most 1, got '{}'", kRecallAtPrecision,
                 excerpt(wanted));
    std::string column = fmt::format("recall_precision_{}", *precision);
    std::replace_if(
        column.begin(), column.end(), [](char c) { return c == '.' || c == '-'; }, '_');
    return Metric{fmt::format("{}{}", kRecallAtPrecision, *precision),
                  fmt::format("recall at precision {}", *precision),
                  column,
                  true,
                  0.0,
                  1.0,
                  by_margin([p = *precision](const Tensor& score, const Tensor& y, const Tensor& index) {
                    return nn::recall_at_precision(p, score, y, index);
                  })};
  }
  for (const auto& [prefix, measure] :
       {std::pair(kRecallAt, &nn::recall_at), std::pair(kPrecisionAt, &nn::precision_at)}) {
    if (!wanted.starts_with(prefix)) continue;
    const auto k = number_in<int64_t>(after(prefix));
    if (!k || *k < 1)
      usage_fail("--metric: expected {}K with K of 1 or more{}, got '{}'", prefix,
                 prefix == kRecallAt ? fmt::format(", or {}P", kRecallAtPrecision) : "", excerpt(wanted));
    std::string column = fmt::format("{}{}", prefix, *k);
    std::replace(column.begin(), column.end(), '@', '_');
    return Metric{
        fmt::format("{}{}", prefix, *k),
        fmt::format("{}{}", prefix, *k),
        column,
        true,
        0.0,
        1.0,
        by_margin([k = *k, measure = measure](const Tensor& score, const Tensor& y, const Tensor& index) {
          return measure(k, score, y, index);
        })};
  }
  return {};
}

std::span<const Metric> metrics_of(Labels labels, int64_t outputs) {
  if (labels == Labels::several) return kOfLabels;
  if (labels == Labels::numbers) return kOfTargets;
  if (outputs == 2) return kOfTwoClasses;
  return kOfClasses;
}

/// Name of such labels in messages.
std::string described(Labels labels, int64_t outputs) {
  if (labels == Labels::classes && outputs == 2)
    return fmt::format("labels of 2 classes, or {}P, {}K, {}K", kRecallAtPrecision, kRecallAt, kPrecisionAt);
  if (labels == Labels::classes) return fmt::format("labels of {} classes", outputs);
  return labels == Labels::several ? "several labels" : "regression";
}

/// Reason why the metric is undefined on these examples for any outputs; empty if it is defined. `output`:
/// all.
std::string obstacle(const Metric& metric, const Tensor& y, int64_t outputs, const Tensor& index,
                     double output = 0.0) {
  try {
    (void)metric.measure(Tensor::full({y.size(0), outputs}, output), y, index);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

void Metric::name_class(const std::vector<std::string>& class_names) {
  const bool of_positives =
      option == "pr-auc" || option.starts_with(kRecallAt) || option.starts_with(kPrecisionAt);
  if (of_positives && class_names.size() == 2) name += fmt::format(" of '{}'", excerpt(class_names[1]));
}

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

Metric metric_named(const std::string& wanted, Labels labels, int64_t outputs) {
  if (labels == Labels::classes && outputs == 2)
    if (std::optional<Metric> numbered = numbered_metric(wanted)) return *numbered;
  return metric_among(metrics_of(labels, outputs), wanted, described(labels, outputs));
}

std::optional<bool> higher_is_better(const std::string& option) {
  for (const std::span<const Metric> metrics :
       {std::span<const Metric>(kOfTwoClasses), {kOfLabels}, {kOfTargets}})
    for (const Metric& metric : metrics)
      if (metric.option == option) return metric.higher_is_better;
  try {
    if (const std::optional<Metric> numbered = numbered_metric(option)) return numbered->higher_is_better;
  } catch (const UsageError&) {
  }
  return {};
}

Metric metric_for(const Examples& examples, const std::string& file, const std::string& wanted,
                  size_t first_split, size_t splits) {
  const Metric metric =
      metric_named(wanted == "auto" ? examples.auto_metric : wanted, examples.labels, examples.outputs);
  for (size_t k = first_split; k < first_split + splits; ++k) {
    const Split& split = examples.splits.at(k);
    for (const auto& [name, part] : {std::pair("val", &split.val), std::pair("test", &split.test)}) {
      const std::string reason = obstacle(metric, examples.y, examples.outputs, *part);
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

std::string columns_left_out(const Metric& metric, const Tensor& y, const Tensor& part,
                             const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  if (y.dims() != 2 || y.size(1) == 1) return "";
  const Tensor index = part.to(Device::cpu());
  const ColumnsOfPart columns(y, index);
  std::vector<size_t> alike = columns.empty;
  for (const auto& [t, value] : columns.constant) alike.push_back(t);
  const std::vector<float> all = alike.empty() ? std::vector<float>() : y.to_vector<float>();
  std::vector<std::string> undefined;
  for (const size_t t : alike) {
    std::vector<float> one;
    for (size_t i = t; i < all.size(); i += static_cast<size_t>(y.size(1))) one.push_back(all[i]);
    // 1: so that F1 counts the column, whose mean is over all values together
    if (!obstacle(metric, Tensor::from(one, {std::ssize(one), 1}), 1, index, 1.0).empty())
      undefined.push_back(names.empty() ? fmt::to_string(t) : names[t]);
  }
  return undefined.empty() ? "" : detail::listed(undefined, kShown);
}

}  // namespace adj::training
