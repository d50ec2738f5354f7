#pragma once

#include "statistics.h"
#include <adjoint/training/chart.h>

namespace adj::apps {

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
