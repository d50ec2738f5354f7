#pragma once

#include <adjoint/graph/graph.h>

#include <cstdint>
#include <vector>

namespace adj {

/// What the rank with the most has to do if a graph's nodes are cut for so many ranks (RowCut).
struct RankPlan {
  int64_t ranks = 1;
  int64_t nodes = 0;  ///< of the rank with the most; the next likewise, each of its own rank
  int64_t edges = 0;  ///< in-edges
  int64_t halo = 0;   ///< rows of other ranks' nodes that it fetches for a sum over neighbours
  double excess = 0;  ///< of `edges` over their mean, as a fraction
};

/// A plan for each number of ranks, at most RowCut::kParts; the graph is on the CPU. Throws Error otherwise.
std::vector<RankPlan> plan_ranks(const Graph& graph, const std::vector<int64_t>& ranks);

}  // namespace adj
