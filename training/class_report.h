#pragma once

#include <adjoint/nn/metrics/classification_report.h>
#include <adjoint/training/examples.h>

#include <optional>

namespace adj::training {

/// The --class-scores: scores per class of examples with known labels.
class ClassReport {
 public:
  /// For outputs [E, T] over the examples of `index`; `names` of the classes, or none. `labels` must not be
  /// numbers. `validation`: examples that choose the temperature at which probabilities are calibrated, if
  /// they are others.
  ClassReport(Labels labels, const Tensor& output, const Tensor& y, const Tensor& index,
              std::vector<std::string> names, const Tensor& validation = {});

  /// Prints tables: scores per class with means, and the confusion matrix; with many classes only the
  /// largest, and the most frequently confused pairs. `heading` is printed above.
  void print(const std::string& heading) const;
  /// One JSON object.
  std::string json() const;
  /// The same tables in HTML; of many classes all scores, and the pairs that are confused most.
  std::string html() const;
  int64_t examples() const { return examples_; }

 private:
  std::string label_of(size_t c) const;
  std::string calibration() const;
  /// Rows of the table of scores, the means last.
  std::vector<std::pair<std::string, nn::ClassScores>> score_lines(const std::vector<size_t>& classes) const;
  void print_scores() const;
  /// [C, C] row by row: label, predicted class.
  std::vector<int64_t> matrix() const;
  void print_matrix() const;
  void print_confused() const;
  bool few() const;
  /// The most frequent pairs of different classes, first the largest.
  std::vector<nn::Confusion> confused() const;

  Labels labels_;
  nn::ClassificationReport scores_;
  std::vector<nn::Confusion> confusions_;  // empty for several labels per example
  double calibration_error_ = 0.0;         // of classes
  /// Calibrated probabilities.
  struct Scaled {
    double temperature, error;  ///< chosen by validation, and the calibration error
  };
  std::optional<Scaled> scaled_;  // the same with probabilities of softmax(output / temperature)
  std::vector<std::string> names_;
  int64_t examples_;
};

}  // namespace adj::training
