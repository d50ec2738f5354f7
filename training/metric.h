#pragma once

#include "examples.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace adj::training {

/// How good a model's outputs are.
struct Metric {
  std::string option;  ///< as --metric and --json have it: "accuracy"
  std::string name;    ///< in sentences: "ROC-AUC"
  std::string column;  ///< in files: "auc"
  bool higher_is_better;
  double low, high;  ///< between which it lies
  /// Of outputs [E, T] against labels, over the examples of `index`.
  std::function<double(const Tensor& output, const Tensor& y, const Tensor& index)> of;

  /// Higher is better, for who compares.
  double score(double value) const { return higher_is_better ? value : -value; }
};

/// The metric that `wanted` names for such labels; "auto": accuracy for classes (ROC-AUC for two of them),
/// mean ROC-AUC for several labels, R2 for numbers. Throws UsageError where they have no such metric.
const Metric& metric_named(const std::string& wanted, Labels labels, int64_t outputs);
/// The one of `metrics` that `wanted` names, of what `described` says; "auto": the first. Throws UsageError.
const Metric& metric_among(std::span<const Metric> metrics, const std::string& wanted,
                           const std::string& described);
/// As metric_named(), one that is defined on validation and test examples, on the CPU, of all these splits.
/// Accuracy takes the place of an "auto" ROC-AUC that is not; else throws DataError naming the place in
/// `file`.
const Metric& metric_for(const Examples& examples, const std::string& file, const std::string& wanted,
                         size_t first_split, size_t splits);

}  // namespace adj::training
