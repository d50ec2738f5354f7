#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/data/loader/subgraph_batch.h>

namespace adj {

/// Options of a ClusterLoader.
struct ClusterLoaderOptions {
  int64_t parts = 0;  ///< of a dataset: number of METIS parts; 0: the dataset's own `part`
  /// batch_size: maximum number of parts, 1 by default; parts are distributed evenly over the batches.
  LoaderOptions loading = {};
};

/// Mini-batches of clusters (Cluster-GCN, Chiang et al. 2019, section 3.2): the nodes of some parts of a
/// partition with few edges between parts, and all edges among these nodes:
///
///   data.part = metis_partition(data.graph, 1500);
///   ClusterLoader loader(data, data.train, {.loading = {.batch_size = 20, .shuffle = true}});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const SubgraphBatch& batch : loader.epoch(epoch))
///       if (batch.seeds.numel() > 0) …
///
/// Every node, and so every seed, is in one batch per epoch; a batch may have no seed. Without `shuffle` an
/// epoch visits the parts in order, as for evaluation. Edges between parts of different batches are in no
/// batch: a layer sums over neighbours in the batch, and degrees (GCN's adjacency) are those in the batch, as
/// in the paper.
///
/// Structures are extracted on the CPU, with a copy of the graph if it is on a GPU, and are copied to the
/// device on each worker's stream. Features are gathered where they are stored.
class ClusterLoader : public Loader<SubgraphBatch> {
 public:
  /// `part`: int32 [N], 0 to N - 1: a partition (graph/order/partition.h); parts without nodes are ignored.
  /// `labels`: [N] or [N,T] by node, optional. `seeds`: int32 or int64 [S], in range, distinct. Throws
  /// otherwise, naming the place; if the number of rows of features or labels is not N; and for options out
  /// of range.
  ClusterLoader(const Graph& graph, const FeatureInput& x, const Tensor& labels, const Tensor& seeds,
                const Tensor& part, const ClusterLoaderOptions& options);
  /// The dataset's graph, features (in memory or in their file) and labels. Throws if it has no features, or
  /// no partition and `parts` is 0.
  ClusterLoader(const Dataset& data, const Tensor& seeds, const ClusterLoaderOptions& options);

  /// Number of non-empty parts.
  int64_t num_parts() const { return num_items(); }
};

}  // namespace adj
