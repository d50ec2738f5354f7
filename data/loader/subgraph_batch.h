#pragma once

#include <adjoint/graph/features.h>
#include <adjoint/graph/graph.h>

namespace adj {

/// Some nodes of a graph, the edges among them, and what is known of both: what a model of a whole graph
/// takes as it is, `loss = cross_entropy(model(batch.graph, batch.x), batch.y, batch.seeds)`.
struct SubgraphBatch {
  Graph graph;    ///< of K nodes; edges with their weights and attributes
  Tensor nodes;   ///< int32 [K], ascending: their numbers in the whole
  Features x;     ///< [K, F]
  Tensor y;       ///< [K] or [K,T]; absent where the loader was given no labels
  Tensor seeds;   ///< int32 [S], ascending: the places in the batch of the nodes to train on; S may be 0
  Tensor weight;  ///< float32 [S], of what each of these counts in the loss; absent: all the same

  int64_t size() const { return nodes.numel(); }
  /// With what the graph derived; from the CPU to a GPU as one copy, but for the features.
  SubgraphBatch to(Device device) const;
};

}  // namespace adj
