#pragma once

#include <adjoint/core/tensor.h>

#include <vector>

namespace adj::nn {

// Over the nodes that `index` [K] selects, or all nodes without it; labels and indices are int32 or int64. An
// empty selection throws, and a label that is none of the classes. What is predicted is the largest logit
// (ties to the smallest class).

/// int64 [C, C] on the CPU: row i, column j counts the nodes of class i that class j is predicted for; logits
/// [N, C], label [N].
Tensor confusion_matrix(const Tensor& logits, const Tensor& label, const Tensor& index = {});

/// An entry of that matrix.
struct Confusion {
  int32_t label, predicted;
  int64_t count;
};
/// Its entries above zero, row by row: for classes so many that C² would be too much. At most K of them.
std::vector<Confusion> confusions(const Tensor& logits, const Tensor& label, const Tensor& index = {});

/// How well one class is told: precision = tp / (tp + fp), recall = tp / (tp + fn), F1 = 2 tp / (2 tp + fp +
/// fn), each 0 where it is 0 / 0.
struct ClassScores {
  double precision = 0.0, recall = 0.0, f1 = 0.0;
  int64_t support = 0;  ///< nodes of the class
};

/// The classes, and means over them. A class that is neither predicted nor present counts in no mean.
struct ClassificationReport {
  std::vector<ClassScores> classes;
  ClassScores macro;     ///< each class counts alike
  ClassScores weighted;  ///< each counts by its support
  ClassScores micro;     ///< of all counts together; of classes, where each node is in one, the accuracy
};
ClassificationReport classification_report(const Tensor& logits, const Tensor& label,
                                           const Tensor& index = {});
/// Of several labels a node: logits and target float [N, T], where a logit above 0 predicts 1. A target that
/// is NaN is no label, and its node is left out of that column.
ClassificationReport multilabel_report(const Tensor& logits, const Tensor& target, const Tensor& index = {});

}  // namespace adj::nn
