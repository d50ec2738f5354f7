#pragma once

#include <adjoint/core/choice.h>
#include <adjoint/training/search/space.h>

#include <array>
#include <limits>

// Grid search, random search, TPE and asynchronous successive halving, by generations.

namespace adj::training {

/// Grid; uniform; tree-structured Parzen estimator; or asynchronous successive halving (Li et al., A System
/// for Massively Parallel Hyperparameter Tuning, MLSys 2020, algorithm 2) of uniform trials.
enum class SearchMethod : uint8_t { grid, random, tpe, asha };
constexpr auto names_of(SearchMethod) { return std::array{"grid", "random", "tpe", "asha"}; }

/// Score of a training that failed; lower scores are better.
inline constexpr double kFailed = std::numeric_limits<double>::infinity();

/// A trial and its scores, one after each rung; without asha there is one.
struct SearchTrial {
  Assignment values;  ///< of the parameters
  std::vector<double> scores = {};
};

/// A training to do next: the next rung of trial `trial`.
struct SearchTask {
  size_t trial, rung;
};

/// A search. The tasks of a generation depend on the results of those before it only: they are the same for
/// any number of trainings in parallel, and however often it was interrupted.
struct Search {
  SearchMethod method = SearchMethod::tpe;  ///< how trials are chosen
  std::vector<Parameter> space = {};        ///< what is searched
  uint64_t seed = 0;                        ///< of all draws
  size_t trials = 0;                        ///< those of grid are its points
  size_t startup = 10;                      ///< of tpe: trials with uniform values, the first generation
  size_t generation = 8;                    ///< tasks of a generation of tpe and asha
  size_t rungs = 1;                         ///< of asha
  size_t reduction = 3;                     ///< of asha: one of so many is promoted to the next rung

  /// The next generation of tasks; empty at the end. Adds new trials to `trials_so_far`, whose other ones
  /// must have the scores of all former tasks.
  std::vector<SearchTask> next(std::vector<SearchTrial>& trials_so_far) const;

 private:
  std::vector<SearchTask> next_halving(std::vector<SearchTrial>& all) const;
};

}  // namespace adj::training
