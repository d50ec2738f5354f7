#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/data/loader/subgraph_batch.h>

namespace adj {

struct ClusterLoaderOptions {
  int64_t parts = 0;  ///< of a dataset: METIS parts it into so many; 0: as the dataset's own `part` has it
  /// batch_size: parts at most, 1 by default; an epoch's are dealt to its batches as evenly as can be.
  LoaderOptions loading = {};
};

/// Mini-batches of clusters (Cluster-GCN, Chiang et al. 2019, section 3.2): the nodes of some parts of a
/// partition that has few edges between parts, and all edges among them, those between the parts of a batch
/// too:
///
///   data.part = metis_partition(data.graph, 1500);
///   ClusterLoader loader(data, data.train, {.loading = {.batch_size = 20, .shuffle = true}});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const SubgraphBatch& batch : loader.epoch(epoch))
///       if (batch.seeds.numel() > 0) …
///
/// Every node stands in one batch an epoch, and with it every seed; a batch may have no seed. Without
/// `shuffle` an epoch goes over all nodes part after part, as for evaluation. Edges between parts of
/// different batches are in none of them, so that what a layer sums is of the batch's neighbours alone, and
/// what is normalised by degrees (GCN's adjacency) by those in the batch, as the paper has it.
///
/// Structures are cut out on the CPU, where a copy of a GPU's graph is kept, and go to the device on each
/// worker's own stream; features are gathered where they are.
class ClusterLoader : public Loader<SubgraphBatch> {
 public:
  /// `part`: int32 [N], 0 to N - 1: a partition (graph/order/partition.h), of which parts without nodes do
  /// not count. `labels`: [N] or [N,T] by node, optional. `seeds`: int32 or int64 [S], in range, none twice.
  /// Throws otherwise, naming the place; where features or labels are not those of the graph's nodes; and
  /// where options are out of range.
  ClusterLoader(const Graph& graph, const FeatureSource& x, const Tensor& labels, const Tensor& seeds,
                const Tensor& part, const ClusterLoaderOptions& options);
  /// The dataset's graph, features (from their file where they were left there) and labels. Throws where it
  /// has no features, or no partition and none is asked for.
  ClusterLoader(const Dataset& data, const Tensor& seeds, const ClusterLoaderOptions& options);

  /// With nodes.
  int64_t num_parts() const { return num_items(); }
};

}  // namespace adj
