#pragma once

#include "../common/summary.h"
#include <adjoint/data/feature_summary.h>
#include <adjoint/graph/order/window_reuse.h>

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

/// How the in-edges fill tiles of the adjacency matrix, where a row is a target.
struct TileStatistics {
  int64_t height = 0, width = 0;  ///< width 1: a column of a row window
  std::vector<TileCount> counts;  ///< the first of tiles with an edge
};
/// Row windows of 8, 16, 64, 128 and 1024: columns with 1, 2, 3, 4 and 8 edges; tiles of 64 x 64 and 128 x
/// 128, with an edge and filled to 1/2, 1/4, 1/8 and 1/16.
std::vector<TileStatistics> tiles_of(const Csr& in_edges);

/// What is in a dataset on the CPU, each number found once; absent is what it does not have.
struct Statistics {
  std::optional<StructureStatistics> structure;
  std::optional<FeatureSummary> features;
  std::optional<LabelStatistics> labels;
  std::optional<GraphStatistics> graphs;
  std::vector<TileStatistics> tiles;  ///< by tiles_of(), where wanted
};
Statistics statistics_of(const Dataset& data);

/// The labels that the task is about: absent where it has none.
const Tensor& labels_of(const Dataset& data);

}  // namespace adj::apps
