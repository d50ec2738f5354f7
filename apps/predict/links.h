#pragma once

#include "options.h"
#include <adjoint/adjoint.h>

namespace adj::apps {

/// Nodes that links join, and the edges that there are between them.
struct LinkNodes {
  const Dataset& sources;
  const Dataset* targets;  ///< null: the sources
  const Graph& graph;      ///< of the sources, with the targets of another type behind them

  /// Number of the first target in the graph: 0 if all nodes are targets.
  int64_t first_target() const { return targets != nullptr ? sources.num_nodes() : 0; }
  /// Pairs that can be scored, with `chosen` sources or, if it is 0, all.
  int64_t candidates(int64_t chosen) const;
};

/// The --pairs, or the --missing-links of the `sources` or, if there are none, of all nodes, from the
/// embeddings of the graph's nodes.
LinkPredictions predicted_links(const TrainedModel& trained, const PredictOptions& options,
                                const LinkNodes& nodes, const Tensor& embeddings, const EdgeIndex& pairs,
                                const Tensor& sources);

}  // namespace adj::apps
