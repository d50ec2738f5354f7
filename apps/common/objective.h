#pragma once

#include "examples.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace adj::apps {

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

/// Is this a task of nodes with labels?
bool is_trained(Task task);
/// Or one of graphs with labels?
bool is_of_graphs(Task task);
/// The task of this name. Throws UsageError.
Task task_named(const std::string& option, const std::string& name);
/// How many numbers a model gives for a node or graph: classes, or columns of labels.
int64_t outputs_of(const Dataset& data);

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

/// What the labels ask of a training on the split in use: a loss, and outputs as users want them.
/// Targets of regression are standardised by the training examples' mean and deviation, so that neither
/// their unit nor their offset matters to the optimizer; outputs are in the targets' own unit again.
class Objective {
 public:
  Objective() = default;
  explicit Objective(const Examples& examples);
  /// From what another one wrote down.
  Objective(Labels labels, Tensor mean, Tensor deviation);

  /// Softmax or binary cross-entropy, or squared error of the standardised targets, over the examples of
  /// `index`.
  Var loss(const Var& out, const Tensor& index) const;
  /// Likewise over a batch, whose labels are rows of targets().
  Var loss_of_batch(const Var& out, const Tensor& y) const;
  /// Likewise over the rows `index` of a batch; with `weight`, float32 [K], the sum of what each is weighted
  /// with.
  Var loss_of_batch(const Var& out, const Tensor& y, const Tensor& index, const Tensor& weight) const;
  /// Labels as the loss takes them, by example.
  const Tensor& targets() const { return y_; }
  /// float32: logits, or predictions in the targets' unit.
  Tensor output(const Tensor& out) const;

  /// The loss of what output() gave, over the examples of `index`.
  double loss_of_output(const Tensor& output, const Tensor& index) const;

  /// float32 [T]; absent but for regression.
  const Tensor& mean() const { return mean_; }
  const Tensor& deviation() const { return deviation_; }

 private:
  Var loss(const Var& out, const Tensor& y, const Tensor& index) const;

  Labels labels_ = Labels::classes;
  Tensor y_, mean_, deviation_;
};

}  // namespace adj::apps
