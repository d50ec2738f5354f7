#pragma once

#include <adjoint/core/tensor.h>

#include <vector>

namespace adj::nn {

// Computed over the nodes selected by `index` [K], or all nodes without it; labels and indices are int32 or
// int64. Throws for an empty selection or a label outside the classes. The prediction is the largest logit
// (ties to the smallest class).

/// int64 [C, C] on the CPU: row i, column j counts nodes of class i predicted as class j; logits [N, C],
/// label [N].
Tensor confusion_matrix(const Tensor& logits, const Tensor& label, const Tensor& index = {});

/// A nonzero entry of the confusion matrix: `count` nodes of class `label` with the class `predicted`.
struct Confusion {
  int32_t label, predicted;
  int64_t count;
};
/// The nonzero entries, row by row, at most K: for so many classes that C² is too large.
std::vector<Confusion> confusions(const Tensor& logits, const Tensor& label, const Tensor& index = {});

/// Scores of one class: precision = tp / (tp + fp), recall = tp / (tp + fn), f1 = 2 tp / (2 tp + fp + fn); 0
/// / 0 counts as 0.
struct ClassScores {
  double precision = 0.0, recall = 0.0, f1 = 0.0;
  int64_t support = 0;  ///< nodes of the class
};

/// Scores per class and their means. A class that is neither predicted nor present is left out of the means.
struct ClassificationReport {
  std::vector<ClassScores> classes;  ///< by class, or by column of several labels
  ClassScores macro;                 ///< unweighted mean over the classes
  ClassScores weighted;              ///< mean weighted by support
  ClassScores micro;  ///< from the pooled counts; equals the accuracy if each node has one class
};
/// For one class per node: logits [N, C], label [N].
ClassificationReport classification_report(const Tensor& logits, const Tensor& label,
                                           const Tensor& index = {});
/// For several labels per node: logits and target float [N, T]; a logit above 0 predicts 1. A NaN target is a
/// missing label: its node is left out of that column.
ClassificationReport multilabel_report(const Tensor& logits, const Tensor& target, const Tensor& index = {});

/// Expected calibration error (Guo et al. 2017, eq. 3): Σ |B| / K · |accuracy of B - mean confidence in B|
/// over bins of the confidence, the largest probability of softmax(logits / temperature), of equal width,
/// (m / bins, (m + 1) / bins].
double expected_calibration_error(const Tensor& logits, const Tensor& label, const Tensor& index = {},
                                  int64_t bins = 15, double temperature = 1.0);
/// The temperature T within [0.01, 100] with the least cross entropy of softmax(logits / T) (Guo et al. 2017,
/// section 4.2): of nodes that the model was not trained on. Predictions stay the same. Throws for logits
/// that are not finite.
double calibration_temperature(const Tensor& logits, const Tensor& label, const Tensor& index = {});

}  // namespace adj::nn
