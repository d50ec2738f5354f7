#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/graph/sample/neighbor_sampler.h>

#include <memory>
#include <vector>

namespace adj {

/// Some nodes, what is sampled of their neighbourhood, and what is known of both.
struct NeighborBatch {
  std::vector<Block> blocks;  ///< one a layer, in the order of layers; the last one's targets are the seeds
  Features x;                 ///< of blocks.front().src_nodes()
  Tensor y;                   ///< of the seeds; absent where the loader was given no labels
  Tensor seeds;               ///< int32 [B]

  int64_t size() const { return seeds.numel(); }
  /// With what the blocks derived; from the CPU to a GPU as one copy, but for the features.
  NeighborBatch to(Device device) const;
};

struct NeighborLoaderOptions {
  NeighborSampling sampling = {};  ///< fan-outs, one a layer, from the seeds outwards; and how it is sampled
  LoaderOptions loading = {};      ///< batch_size: seeds, 1024 by default
};

/// Mini-batches of sampled neighbourhoods (GraphSAGE, Hamilton et al. 2017), for training and evaluation:
///
///   NeighborLoader loader(data, data.train,
///                         {.sampling = {.fanouts = {15, 10}}, .loading = {.shuffle = true}});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const NeighborBatch& batch : loader.epoch(epoch)) …
///
/// Where the graph is on a GPU, sampling runs there, on a stream of its own for each worker, and with dense
/// features there, too, nothing of a batch comes from the host. A graph on the CPU can be sampled for a GPU:
/// then blocks are copied, with their transposes.
class NeighborLoader : public Loader<NeighborBatch> {
 public:
  /// `labels`: [N] or [N,T] by node, optional. `seeds`: int32 or int64 [S], in range, none twice. Throws
  /// otherwise, naming the place; where features or labels are not those of the graph's nodes; where options
  /// are out of range; where drop_last would leave nothing; and what NeighborSampler throws.
  NeighborLoader(Graph graph, const FeatureSource& x, const Tensor& labels, const Tensor& seeds,
                 const NeighborLoaderOptions& options);
  /// The dataset's graph, features (from their file where they were left there) and labels. Throws where it
  /// has no features.
  NeighborLoader(const Dataset& data, const Tensor& seeds, const NeighborLoaderOptions& options);

  int64_t num_seeds() const { return num_items(); }
};

}  // namespace adj
