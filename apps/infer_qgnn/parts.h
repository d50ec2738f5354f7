#pragma once

#include "options.h"

#include <functional>

namespace adj::apps {

/// What is computed at a time: some clusters of a graph, or some graphs. On the CPU.
struct Part {
  Graph graph;
  Tensor offsets;  ///< int64 [B + 1], of graphs
  Features x;
  Tensor places;  ///< int32: the rows of the outputs that are its nodes' or graphs'
};

/// The parts of a dataset, each made by whoever asks for it.
struct Parts {
  int64_t count;
  std::string of;  ///< "32 graphs"
  std::function<Part(int64_t)> part;
};

/// As the options have it, where no two have a row of the outputs in common. Throws UsageError for more
/// clusters than nodes.
Parts parts_of(const ModelDescription& model, const Dataset& data, const InferOptions& options);

}  // namespace adj::apps
