#pragma once

#include <adjoint/training/search/space.h>

#include <span>

// The tree-structured Parzen estimator (Bergstra et al., Algorithms for Hyper-Parameter Optimization, NeurIPS
// 2011), each parameter on its own, with the rules of Optuna 5's TPESampler in its defaults.

namespace adj::training {

/// The density of a parameter's good, or other, values: a mixture of one kernel for each observation, and one
/// over the whole interval. Kernels of numbers are normal, truncated to Parameter::interval() and of integers
/// integrated over a step; their deviations are the larger distance to a neighbour, at least 1 / min(100, n +
/// 2) of the interval. Those of choices have 1 / (n + 1) more on each choice. Of more than 25 observations
/// the oldest weigh less.
class ParzenEstimator {
 public:
  /// `observations`: values, the oldest first.
  ParzenEstimator(const Parameter& parameter, const std::vector<double>& observations);

  /// Logarithm of the density at a value: of Parameter::position_of() for reals, else of the value's mass.
  double log_density(double value) const;
  /// A number drawn from the density.
  double sample(Draws& draws) const;

 private:
  double mass(size_t kernel, double left, double right) const;  // of a normal, not truncated
  double density(size_t kernel, double value) const;

  const Parameter& parameter_;
  double low_ = 0.0, high_ = 0.0;
  std::vector<double> weights_;               // of the kernels, that of the interval last
  std::vector<double> centers_, deviations_;  // of numbers; or the observed choices
};

/// A trial with its result; lower scores are better.
struct Observation {
  const Assignment* values;  ///< of the trial, not owned
  double score;              ///< lower is better
};

/// The best n / 10 of n observations, rounded up and 25 at most, and the others; in both the order of
/// `observations`.
std::pair<std::vector<Observation>, std::vector<Observation>> split_by_score(
    std::span<const Observation> observations);

/// Values of all active parameters of trial `trial`: for each the one of 24 draws from the density of the
/// best observations whose ratio to the density of the others is the highest. `pending`: trials without a
/// result yet, which are among the others, so that trials suggested together differ ("constant liar"). The
/// oldest first.
Assignment tpe_assignment(const std::vector<Parameter>& space, std::span<const Observation> observations,
                          std::span<const Assignment> pending, uint64_t seed, size_t trial);

}  // namespace adj::training
