#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/subgraph_batch.h>

namespace adj {

struct ClusterLoaderOptions {
  int64_t parts = 0;  ///< of a dataset: METIS parts it into so many; 0: as the dataset's own `part` has it
  int64_t parts_per_batch = 1;  ///< at most: an epoch's parts are dealt to its batches as evenly as can be
  bool shuffle = false;         ///< parts in another order in each epoch, else by their numbers
  uint64_t seed = 0;            ///< of the order
  SubgraphLoading loading = {};
};

/// Mini-batches of clusters (Cluster-GCN, Chiang et al. 2019, section 3.2): the nodes of some parts of a
/// partition that has few edges between parts, and all edges among them, those between the parts of a batch
/// too:
///
///   data.part = metis_partition(data.graph, 1500);
///   ClusterLoader loader(data, data.train, {.parts_per_batch = 20, .shuffle = true});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const SubgraphBatch& batch : loader.epoch(epoch))
///       if (batch.seeds.numel() > 0) …
///
/// Every node stands in one batch an epoch, and with it every seed; a batch may have no seed. Without
/// `shuffle` an epoch goes over all nodes part after part, as for evaluation. Edges between parts of
/// different batches are in none of them, so that what a layer sums is of the batch's neighbours alone, and
/// what is normalised by degrees (GCN's adjacency) by those in the batch, as the paper has it.
///
/// Epoch e has the same batches to the bit, whatever the number of workers and threads and whichever epochs
/// came before: its order depends on (seed, e). A training that is resumed goes on with the batches that it
/// would have had.
///
/// Structures are cut out on the CPU, where a copy of a GPU's graph is kept, and go to the device on each
/// worker's own stream; features are gathered where they are. A cheap handle; the epochs of one may be
/// iterated at the same time.
class ClusterLoader {
 public:
  /// `part`: int32 [N], 0 to N - 1: a partition (graph/order/partition.h), of which parts without nodes do
  /// not count. `labels`: [N] or [N,T] by node, optional. `seeds`: int32 or int64 [S], in range, none twice.
  /// Throws otherwise, naming the place; where features or labels are not those of the graph's nodes; and
  /// where options are out of range.
  ClusterLoader(const Graph& graph, std::shared_ptr<const FeatureStore> x, const Tensor& labels,
                const Tensor& seeds, const Tensor& part, ClusterLoaderOptions options);
  ClusterLoader(const Graph& graph, const Features& x, const Tensor& labels, const Tensor& seeds,
                const Tensor& part, ClusterLoaderOptions options);
  /// The dataset's graph, features (from their file where they were left there) and labels. Throws where it
  /// has no features, or no partition and none is asked for.
  ClusterLoader(const Dataset& data, const Tensor& seeds, ClusterLoaderOptions options);

  /// Batches an epoch.
  int64_t size() const;
  /// With nodes.
  int64_t num_parts() const;
  int64_t num_seeds() const;
  const ClusterLoaderOptions& options() const;

  /// Epoch `e` >= 0, of which batches are prepared from now on.
  Prefetcher<SubgraphBatch> epoch(int64_t e) const;
  /// Batch `i` of epoch `e`, made by the caller.
  SubgraphBatch batch(int64_t e, int64_t i) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace adj
