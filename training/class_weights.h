#pragma once

#include <adjoint/training/examples.h>

#include <string>
#include <vector>

namespace adj::training {

/// The --class-weights: factors on the losses of a class's examples, or for several labels each on the losses
/// of a column's labels that are 1.
class ClassWeights {
 public:
  /// Equal weights.
  ClassWeights() = default;
  /// `text`: "none"; "balanced", as scikit-learn's class_weight: n / (k n_c) for n training examples, n_c of
  /// them of class c, and k classes that have any; a number for every class, "1,2.5"; or for some, by name
  /// or number, "rare=5,2=3", the others having 1. For several labels "balanced" is the number of training
  /// examples whose label is 0 over those where it is 1. `names` of the classes or columns, or none. Throws
  /// UsageError for targets that are numbers, and unless every number is positive.
  ClassWeights(const std::string& text, const Examples& examples, const std::vector<std::string>& names);

  /// float32 [C] on the labels' device; 1 for a class without any, or a column without both labels, under
  /// "balanced". Those of classes are scaled so that their mean over the training examples is 1. Absent for
  /// "none".
  Tensor fit(const Examples& examples) const;
  /// "cat 0.5, dog 1.5": those of fit(), by name or number; of many classes the first.
  std::string describe(const Examples& examples, const std::vector<std::string>& names) const;

 private:
  bool balanced_ = false;
  std::vector<double> weights_;  // by class; empty: equal
};

}  // namespace adj::training
