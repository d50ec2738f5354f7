#pragma once

#include <adjoint/training/run_folder.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace adj::apps {

/// A run to compare.
struct Entry {
  std::string name;
  training::RunSummary run;
  /// Metric, name of the dataset, and its fingerprint, or else its path; only runs of one group are ranked.
  std::array<std::string, 3> group = {};
  std::optional<double> value = {};  ///< the validation metric; absent without a result
  bool best = false;
};

/// The runs, with the names of their folders, or of equal names the paths. Throws DataError.
std::vector<Entry> read_entries(const std::vector<std::string>& folders);
/// Sorts by groups, in the order of their first runs, and within each from the best to the worst. Equal runs
/// stay in order, and all of the best are `best`. Runs without a value are last; runs of a metric without a
/// known direction are not sorted.
void rank(std::vector<Entry>& entries);
/// Prints how each group is sorted.
void explain_ranks(const std::vector<Entry>& entries);

}  // namespace adj::apps
