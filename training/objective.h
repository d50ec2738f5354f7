#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/training/class_weights.h>
#include <adjoint/training/examples.h>

#include <optional>

namespace adj::training {

/// Loss and outputs for the labels of the split in use. Regression targets are standardised by the training
/// examples' mean and standard deviation, so that the optimizer does not depend on their unit or offset;
/// outputs are converted back to the targets' unit.
class Objective {
 public:
  Objective() = default;
  /// `weights` of classes, fitted to the training examples. `rows`: of all nodes, of which the examples are
  /// the first; further ones are unlabelled. Absent: as many as there are examples.
  explicit Objective(const Examples& examples, const ClassWeights& weights = {},
                     std::optional<int64_t> rows = {});

  /// Softmax or binary cross-entropy, or squared error of the standardised targets, over the examples of
  /// `index`; with weights of classes their weighted mean, with those of several labels the mean in which a
  /// label that is 1 has its column's factor.
  Var loss(const Var& out, const Tensor& index) const;
  /// The same over the rows `index` of a batch (absent: all), whose labels `y` are rows of targets(); with
  /// `weight`, float32 [K], the weighted sum of losses. With weights of classes the mean is of weighted
  /// losses: a batch of light classes counts less than one of heavy ones.
  Var loss_of_batch(const Var& out, const Tensor& y, const Tensor& index = {},
                    const Tensor& weight = {}) const;
  /// Losses take the first rows of targets() where `out` has fewer.
  /// For the examples [begin, end) alone, on another device; their indices count from `begin`.
  Objective rows(int64_t begin, int64_t end, Device device) const;
  /// Labels as the loss takes them, by example.
  const Tensor& targets() const { return y_; }
  /// float32: logits, or predictions in the targets' unit; of the examples, which are the first rows of
  /// `out`.
  Tensor output(const Tensor& out) const;

  /// The loss for a result of output(), over the examples of `index`.
  double loss_of_output(const Tensor& output, const Tensor& index) const;

  /// float32 [T]; absent except for regression.
  const Tensor& mean() const { return mean_; }
  const Tensor& deviation() const { return deviation_; }

 private:
  void standardize(const Examples& examples);
  Var loss(const Var& out, const Tensor& y, const Tensor& index) const;

  Labels labels_ = Labels::classes;
  int64_t examples_ = 0;  // of the rows of y_, the first
  Tensor y_, mean_, deviation_, class_weight_;
};

}  // namespace adj::training
