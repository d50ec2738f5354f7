#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/prefetch.h>
#include <adjoint/graph/sample/neighbor_sampler.h>

#include <memory>
#include <optional>
#include <vector>

namespace adj {

/// Some nodes, what is sampled of their neighbourhood, and what is known of both.
struct NeighborBatch {
  std::vector<Block> blocks;  ///< one a layer, in the order of layers; the last one's targets are the seeds
  Features x;                 ///< of blocks.front().src_nodes()
  Tensor y;                   ///< of the seeds; absent where the loader was given no labels
  Tensor seeds;               ///< int32 [B]

  int64_t size() const { return seeds.numel(); }
};

struct NeighborLoaderOptions {
  NeighborSampling sampling = {};  ///< fan-outs, one a layer, from the seeds outwards; and how it is sampled
  int64_t batch_size = 1024;       ///< seeds
  bool shuffle = false;            ///< seeds in another order in each epoch
  bool drop_last = false;          ///< without the last batch, where it is smaller
  uint64_t seed = 0;               ///< of order and samples
  /// Blocks come with what backward passes need of them beside (Relation::transposed): workers make it.
  bool backward = true;
  int workers = 0;                    ///< threads that prepare batches ahead; 0: whoever iterates does
  int64_t depth = 0;                  ///< batches that are prepared or wait, at most; 0: two a worker
  std::optional<Device> device = {};  ///< of the batches; absent: the graph's
};

/// Mini-batches of sampled neighbourhoods (GraphSAGE, Hamilton et al. 2017), for training and evaluation:
///
///   NeighborLoader loader(data, data.train, {.sampling = {.fanouts = {15, 10}}, .shuffle = true});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const NeighborBatch& batch : loader.epoch(epoch)) …
///
/// Every seed stands in one batch an epoch. Epoch e has the same batches to the bit, whatever the number of
/// workers and threads and whichever epochs came before: its order depends on (seed, e), the samples of batch
/// i on (seed, e, i). A training that is resumed goes on with the batches that it would have had.
///
/// Where the graph is on a GPU, sampling runs there, on a stream of its own for each worker, and with dense
/// features there, too, nothing of a batch comes from the host. A graph on the CPU can be sampled for a GPU:
/// then blocks are copied. A cheap handle; the epochs of one may be iterated at the same time.
class NeighborLoader {
 public:
  /// `labels`: [N] or [N,T] by node, optional. `seeds`: int32 or int64 [S], in range, none twice. Throws
  /// otherwise, naming the place; where features or labels are not those of the graph's nodes; where options
  /// are out of range; where drop_last would leave nothing; and what NeighborSampler throws.
  NeighborLoader(Graph graph, std::shared_ptr<const FeatureStore> x, const Tensor& labels,
                 const Tensor& seeds, NeighborLoaderOptions options);
  NeighborLoader(const Graph& graph, const Features& x, const Tensor& labels, const Tensor& seeds,
                 NeighborLoaderOptions options);
  /// The dataset's graph, features (from their file where they were left there) and labels. Throws where it
  /// has no features.
  NeighborLoader(const Dataset& data, const Tensor& seeds, NeighborLoaderOptions options);

  /// Batches an epoch.
  int64_t size() const;
  int64_t num_seeds() const;
  const NeighborLoaderOptions& options() const;

  /// Epoch `e` >= 0, of which batches are prepared from now on.
  Prefetcher<NeighborBatch> epoch(int64_t e) const;
  /// Batch `i` of epoch `e`, made by the caller.
  NeighborBatch batch(int64_t e, int64_t i) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace adj
