#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/prefetch.h>

#include <memory>
#include <optional>

namespace adj {

/// Some graphs as one block-diagonal graph, and what is known of them.
struct GraphBatch {
  Graph graph;
  Tensor
      offsets;    ///< int64 [B + 1]: the k-th graph has the nodes offsets[k] to offsets[k + 1], for segment_*
  Features x;     ///< of its nodes
  Tensor y;       ///< of the graphs, one a row; absent where the loader was given no labels
  Tensor graphs;  ///< int32 [B]: their numbers in the whole

  int64_t size() const { return graphs.numel(); }
};

struct GraphLoaderOptions {
  int64_t batch_size = 32;  ///< graphs
  bool shuffle = false;     ///< in another order in each epoch
  bool drop_last = false;   ///< without the last batch, where it is smaller
  /// 0: every graph once an epoch. Else an epoch is so many batches, each of batch_size different graphs (or
  /// all of them, where there are fewer) drawn anew: the iterations of Xu et al. (2019).
  int64_t iterations = 0;
  uint64_t seed = 0;  ///< of order and draws
  /// Graphs come with what backward passes need of them beside (Relation::transposed): workers make it.
  bool backward = true;
  int workers = 0;                    ///< threads that prepare batches ahead; 0: whoever iterates does
  int64_t depth = 0;                  ///< batches that are prepared or wait, at most; 0: two a worker
  std::optional<Device> device = {};  ///< of the batches; absent: the graph's
};

/// Mini-batches of many small graphs, for training and evaluation:
///
///   GraphLoader loader(data, train, {.batch_size = 64, .shuffle = true});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const GraphBatch& batch : loader.epoch(epoch)) …
///
/// Epoch e has the same batches to the bit, whatever the number of workers and threads and whichever epochs
/// came before. Rows are copied where the graphs are kept, on the host (a graph on a GPU is copied there
/// once), and a batch goes to its device on a stream of its own for each worker. A cheap handle; the epochs
/// of one may be iterated at the same time.
class GraphLoader {
 public:
  /// `offsets` int64 [G + 1]: graph g of `whole` has the nodes offsets[g] to offsets[g + 1]. `x`: of its
  /// nodes. `labels`: [G] or [G,T] by graph, optional. `which`: the graphs, int32 or int64 [K], in range,
  /// none twice. Throws otherwise, naming the place; where an edge leads from one graph to another; where
  /// options are out of range; and where drop_last would leave nothing.
  GraphLoader(const Graph& whole, const Tensor& offsets, std::shared_ptr<const FeatureStore> x,
              const Tensor& labels, const Tensor& which, GraphLoaderOptions options);
  /// A dataset of many graphs, with their features (from their file where they were left there) and labels.
  /// Throws where it has no graph_offsets or no features.
  GraphLoader(const Dataset& data, const Tensor& which, GraphLoaderOptions options);

  /// Batches an epoch.
  int64_t size() const;
  /// Graphs that epochs are of.
  int64_t num_graphs() const;
  const GraphLoaderOptions& options() const;

  /// Epoch `e` >= 0, of which batches are prepared from now on.
  Prefetcher<GraphBatch> epoch(int64_t e) const;
  /// Batch `i` of epoch `e`, made by the caller.
  GraphBatch batch(int64_t e, int64_t i) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace adj
