#pragma once

#include "../common/summary.h"
#include <adjoint/data/feature_summary.h>

#include <map>
#include <optional>

namespace adj::apps {

/// How many there are of each: nodes by degree, labels by class.
using Counts = std::map<int64_t, int64_t>;

struct StructureStatistics {
  bool symmetric = false;                 ///< the edges, whatever their weights
  std::optional<bool> symmetric_weights;  ///< where the edges are and have weights
  int64_t self_loops = 0, parallel = 0, isolated = 0;
  int64_t used = 0;  ///< nodes up to the last one with an edge
  Counts in, out;    ///< nodes by degree
};

struct LabelStatistics {
  int64_t rows = 0;
  Counts classes;                                 ///< of a task of classes
  std::vector<int64_t> positive;                  ///< of a multilabel task: rows with 1, by column
  std::vector<std::pair<double, double>> ranges;  ///< of a regression: least and largest, by column
};

struct GraphStatistics {
  int64_t count = 0, least = 0, largest = 0, empty = 0;
};

/// What is in a dataset on the CPU, each number found once; absent is what it does not have.
struct Statistics {
  std::optional<StructureStatistics> structure;
  std::optional<FeatureSummary> features;
  std::optional<LabelStatistics> labels;
  std::optional<GraphStatistics> graphs;
};
Statistics statistics_of(const Dataset& data);

/// The labels that the task is about: absent where it has none.
const Tensor& labels_of(const Dataset& data);

}  // namespace adj::apps
