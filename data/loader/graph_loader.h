#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>

#include <memory>

namespace adj {

/// Some graphs as one block-diagonal graph, and what is known of them.
struct GraphBatch {
  Graph graph;
  Tensor
      offsets;    ///< int64 [B + 1]: the k-th graph has the nodes offsets[k] to offsets[k + 1], for segment_*
  Features x;     ///< of its nodes
  Tensor y;       ///< of the graphs, one a row; absent where the loader was given no labels
  Tensor graphs;  ///< int32 [B]: their numbers in the whole
  Tensor nodes;   ///< int32 [N]: those of their nodes

  int64_t size() const { return graphs.numel(); }
  /// With what the graph derived; from the CPU to a GPU as one copy, but for the features.
  GraphBatch to(Device device) const;
};

/// Mini-batches of many small graphs, for training and evaluation:
///
///   GraphLoader loader(data, train, {.batch_size = 64, .shuffle = true});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const GraphBatch& batch : loader.epoch(epoch)) …
///
/// 32 graphs a batch by default. Rows are copied where the graphs are kept, on the host (a graph on a GPU is
/// copied there once), and a batch goes to its device on a stream of its own for each worker.
class GraphLoader : public Loader<GraphBatch> {
 public:
  /// `offsets` int64 [G + 1]: graph g of `whole` has the nodes offsets[g] to offsets[g + 1]. `x`: of its
  /// nodes. `labels`: [G] or [G,T] by graph, optional. `which`: the graphs, int32 or int64 [K], in range,
  /// none twice. Throws otherwise, naming the place; where an edge leads from one graph to another; where
  /// options are out of range; and where drop_last would leave nothing.
  GraphLoader(const Graph& whole, const Tensor& offsets, const FeatureSource& x, const Tensor& labels,
              const Tensor& which, const LoaderOptions& options);
  /// A dataset of many graphs, with their features (from their file where they were left there) and labels.
  /// Throws where it has no graph_offsets or no features.
  GraphLoader(const Dataset& data, const Tensor& which, const LoaderOptions& options);

  /// Graphs that epochs are of.
  int64_t num_graphs() const { return num_items(); }
};

}  // namespace adj
