#pragma once

#include "../common/summary.h"
#include <adjoint/data/feature_summary.h>
#include <adjoint/graph/order/orders.h>
#include <adjoint/training/chart.h>

#include <map>
#include <optional>

namespace adj::apps {

/// Counts per value: nodes by degree, labels by class.
using Counts = std::map<int64_t, int64_t>;

struct StructureStatistics {
  bool symmetric = false;                 ///< of the edges, regardless of weights
  std::optional<bool> symmetric_weights;  ///< for symmetric edges with weights
  int64_t self_loops = 0, parallel = 0, isolated = 0;
  int64_t used = 0;  ///< nodes up to the last one with an edge
  Counts in, out;    ///< nodes by degree
};

struct LabelStatistics {
  int64_t rows = 0;
  Counts classes;                                 ///< for a task of classes
  std::vector<int64_t> positive;                  ///< for a multilabel task: rows with 1, by column
  std::vector<std::pair<double, double>> ranges;  ///< for a regression: minimum and maximum, by column
};

struct GraphStatistics {
  int64_t count = 0, least = 0, largest = 0, empty = 0;
};

/// Fill of the adjacency matrix's tiles by in-edges, rows being targets.
struct TileStatistics {
  int64_t height = 0, width = 0;  ///< width 1: a column of a row window
  std::vector<TileCount> counts;  ///< the first counts tiles with an edge
};
/// Row windows of 8, 16, 64, 128 and 1024: columns with 1, 2, 3, 4 and 8 edges; tiles of 64 x 64 and 128 x
/// 128, with an edge and filled to 1/2, 1/4, 1/8 and 1/16.
std::vector<TileStatistics> tiles_of(const Csr& in_edges);

/// Statistics of a dataset on the CPU; absent where the dataset lacks the data.
struct Statistics {
  std::optional<StructureStatistics> structure;
  std::optional<FeatureSummary> features;
  std::optional<LabelStatistics> labels;
  std::optional<GraphStatistics> graphs;
  std::vector<TileStatistics> tiles;  ///< from tiles_of(), if requested
};
Statistics statistics_of(const Dataset& data);

/// The labels of the task; absent if it has none.
const Tensor& labels_of(const Dataset& data);

/// Nodes of least <= degree <= largest.
struct DegreeBin {
  int64_t least, largest, nodes;
};
/// Logarithmic bins, including empty ones in between: 0, then from each power of two to the next. `parts` >
/// 1: so many bins per octave, as far as integers allow.
std::vector<DegreeBin> degree_bins(const Counts& degrees, int parts = 1);

/// Lines of at most 80 columns, one per bin: degrees, nodes, their share, and a bar of logarithmic length, so
/// that a single hub is visible next to millions of leaves.
std::vector<std::string> histogram_lines(const Counts& degrees);

/// Both distributions, each node's share over its degree, on logarithmic axes. Throws Error where no node has
/// an edge.
training::Chart degree_chart(const std::string& title, const StructureStatistics& structure);

}  // namespace adj::apps
