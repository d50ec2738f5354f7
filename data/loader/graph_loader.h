#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>

#include <memory>

namespace adj {

/// Some graphs as one block-diagonal graph, with features and labels.
struct GraphBatch {
  Graph graph;
  Tensor offsets;  ///< int64 [B + 1]: graph k has the nodes offsets[k] to offsets[k + 1], for segment_*
  Features x;      ///< of its nodes
  Tensor y;        ///< labels, a row per graph; absent without labels
  Tensor graphs;   ///< int32 [B]: graph numbers
  Tensor nodes;    ///< int32 [N]: node numbers in the whole graph

  int64_t size() const { return graphs.numel(); }  ///< B, number of graphs
  /// With derived structures; one transfer from the CPU to a GPU, except for the features.
  GraphBatch to(Device device) const;
};

/// Mini-batches of many small graphs, for training and evaluation:
///
///   GraphLoader loader(data, train, {.batch_size = 64, .shuffle = true});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const GraphBatch& batch : loader.epoch(epoch)) …
///
/// 32 graphs per batch by default. Batches are assembled on the host (a graph on a GPU is copied there once)
/// and copied to the device on each worker's stream.
class GraphLoader : public Loader<GraphBatch> {
 public:
  /// `offsets` int64 [G + 1]: graph g of `whole` has the nodes offsets[g] to offsets[g + 1]. `x`: of its
  /// nodes. `labels`: [G] or [G,T] by graph, optional. `which`: the graphs, int32 or int64 [K], in range,
  /// distinct. Throws otherwise, naming the place; for an edge between graphs; for options out of range; and
  /// if drop_last leaves no batch.
  GraphLoader(const Graph& whole, const Tensor& offsets, const FeatureInput& x, const Tensor& labels,
              const Tensor& which, const LoaderOptions& options);
  /// A dataset of many graphs, with features (in memory or in their file) and labels. Throws if it has no
  /// graph_offsets or no features.
  GraphLoader(const Dataset& data, const Tensor& which, const LoaderOptions& options);

  /// Number of graphs in an epoch.
  int64_t num_graphs() const { return num_items(); }
};

}  // namespace adj
