#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/graph/sample/neighbor_sampler.h>

#include <memory>
#include <vector>

namespace adj {

/// Seeds with their sampled neighbourhood, features and labels.
struct NeighborBatch {
  std::vector<Block> blocks;  ///< one per layer, in order; the last one's targets are the seeds
  Features x;    ///< of blocks.front().src_nodes(); absent without NeighborLoaderOptions::features
  Tensor y;      ///< of the seeds; absent without labels
  Tensor seeds;  ///< int32 [B]

  int64_t size() const { return seeds.numel(); }  ///< B, number of seeds
  /// With derived structures; one transfer from the CPU to a GPU, except for the features.
  NeighborBatch to(Device device) const;
};

/// Options of a NeighborLoader.
struct NeighborLoaderOptions {
  NeighborSampling sampling = {};  ///< fan-outs, one per layer, from the seeds outwards; and the method
  LoaderOptions loading = {};      ///< batch_size: seeds, 1024 by default
  /// The first block whose transpose workers make, with LoaderOptions::backward: blocks before it pass no
  /// gradients to their sources.
  size_t first_transposed = 0;
  bool features = true;  ///< false: `x` is absent, for steps that gather it
  bool plans = true;     ///< false: blocks have nothing but transposes, for PaddedBlocks
  bool rows = true;  ///< false: neither transposes nor plans of the blocks, for layers that do not use them
};

/// Mini-batches of sampled neighbourhoods (GraphSAGE, Hamilton et al. 2017), for training and evaluation:
///
///   NeighborLoader loader(data, data.train,
///                         {.sampling = {.fanouts = {15, 10}}, .loading = {.shuffle = true}});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const NeighborBatch& batch : loader.epoch(epoch)) …
///
/// If the graph is on a GPU, sampling runs there, on each worker's stream; with dense features on it, nothing
/// is copied from the host. A graph on the CPU can be sampled for a GPU: blocks are copied with their
/// transposes.
class NeighborLoader : public Loader<NeighborBatch> {
 public:
  /// `labels`: [N] or [N,T] by node, optional. `seeds`: int32 or int64 [S], in range, distinct. Throws
  /// otherwise, naming the place; if features or labels do not have N rows; for options out of range; if
  /// drop_last leaves no batch; and what NeighborSampler throws.
  NeighborLoader(Graph graph, const FeatureInput& x, const Tensor& labels, const Tensor& seeds,
                 const NeighborLoaderOptions& options);
  /// The dataset's graph, features (in memory or in their file) and labels. Throws if it has no features.
  NeighborLoader(const Dataset& data, const Tensor& seeds, const NeighborLoaderOptions& options);

  int64_t num_seeds() const { return num_items(); }  ///< S, number of seeds
};

}  // namespace adj
