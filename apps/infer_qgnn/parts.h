#pragma once

#include "options.h"

#include <functional>

namespace adj::apps {

/// Input of one batch: some clusters of a graph, or some graphs. On the CPU.
struct Part {
  Graph graph;
  Tensor offsets;  ///< int64 [B + 1], of graphs
  Features x;
  Tensor places;  ///< int32: output rows of its nodes or graphs
};

/// The parts of a dataset, each built on demand.
struct Parts {
  int64_t count;
  std::string description;  ///< "32 graphs"
  std::function<Part(int64_t)> part;
};

/// Parts according to the options, with disjoint output rows. Throws UsageError for more clusters than nodes.
Parts parts_of(const ModelDescription& model, const Dataset& data, const InferOptions& options);

}  // namespace adj::apps
