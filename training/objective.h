#pragma once

#include "examples.h"
#include <adjoint/autograd/variable.h>

namespace adj::training {

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
  /// Likewise over the rows `index` of a batch (absent: all), whose labels `y` are rows of targets(); with
  /// `weight`, float32 [K], the sum of their weighted losses.
  Var loss_of_batch(const Var& out, const Tensor& y, const Tensor& index = {},
                    const Tensor& weight = {}) const;
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

}  // namespace adj::training
