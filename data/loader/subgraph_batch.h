#pragma once

#include <adjoint/graph/features.h>
#include <adjoint/graph/graph.h>

namespace adj {

/// An induced subgraph with features and labels, for models of a whole graph:
/// `loss = cross_entropy(model(batch.graph, batch.x), batch.y, batch.seeds)`.
struct SubgraphBatch {
  Graph graph;    ///< of K nodes; edges with their weights and attributes
  Tensor nodes;   ///< int32 [K], ascending: numbers in the whole graph
  Features x;     ///< [K, F]
  Tensor y;       ///< [K] or [K,T]; absent without labels
  Tensor seeds;   ///< int32 [S], ascending: rows of the nodes to train on; S may be 0
  Tensor weight;  ///< float32 [S], loss weights of the seeds; absent: all equal

  int64_t size() const { return nodes.numel(); }  ///< K, number of nodes
  /// With derived structures; one transfer from the CPU to a GPU, except for the features.
  SubgraphBatch to(Device device) const;
};

}  // namespace adj
