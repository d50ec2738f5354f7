#pragma once

#include <adjoint/training/examples.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace adj::training {

/// A quality measure of a model's outputs.
struct Metric {
  std::string option;     ///< in --metric and --json: "accuracy"
  std::string name;       ///< in messages: "ROC-AUC"
  std::string column;     ///< in files, of letters, digits and _: "auc"
  bool higher_is_better;  ///< false: it measures errors
  double low, high;       ///< its bounds
  /// Value for outputs [E, T] and labels, over the examples of `index`.
  std::function<double(const Tensor& output, const Tensor& y, const Tensor& index)> measure;

  /// Adds the positive class of a metric that depends on which of two classes it is: "average precision of
  /// 'fraud'". Nothing without names.
  void name_class(const std::vector<std::string>& class_names);

  /// For comparisons: higher is better.
  double score(double value) const { return higher_is_better ? value : -value; }
};

/// The metric `wanted` for such labels; "auto": accuracy for classes (ROC-AUC for two), mean ROC-AUC for
/// several labels, R2 for numbers. Two classes also have "recall@precision=0.9", "recall@50" and
/// "precision@50" with any number. Throws UsageError if the labels have no such metric.
Metric metric_named(const std::string& wanted, Labels labels, int64_t outputs);
/// The metric `wanted` among `metrics`; "auto": the first. Throws UsageError; `described` names the labels.
const Metric& metric_among(std::span<const Metric> metrics, const std::string& wanted,
                           const std::string& described);
/// As metric_named(), for a metric defined on the validation and test examples of all these splits, on the
/// CPU. An undefined "auto" ROC-AUC becomes accuracy; else throws DataError naming the place in `file`.
Metric metric_for(const Examples& examples, const std::string& file, const std::string& wanted,
                  size_t first_split, size_t splits);

/// Columns of several labels or targets y that the mean of `metric` leaves out, as it is undefined on the
/// rows `part`: "old, new and 2 more"; or empty. `names`: of the columns, or none.
std::string columns_left_out(const Metric& metric, const Tensor& y, const Tensor& part,
                             const std::vector<std::string>& names);

/// Whether higher values of the metric with that `option` are better, for classes, several labels
/// and numbers; absent if none has it.
std::optional<bool> higher_is_better(const std::string& option);

}  // namespace adj::training
