#pragma once

#include <adjoint/data/loader/neighbor_loader.h>
#include <adjoint/graph/padded_blocks.h>
#include <adjoint/training/run.h>

#include <functional>
#include <memory>
#include <vector>

namespace adj::training {

/// Sampled batches of full size copied to one storage, in which a step over them is captured. Their sizes are
/// estimated from the first batches of the first epoch, so they depend on seed and options alone: a resumed
/// training has the same.
class PaddedBatches {
 public:
  /// Null unless steps are captured so: on a GPU, of features that are dense in a batch, without
  /// --no-capture, for a model that takes padded blocks, and of batches so small that a step is bound by its
  /// launches. All ranks call it together. `loader()`: of batches without features and plans, of which some
  /// are drawn.
  static std::unique_ptr<PaddedBatches> make(const Run& run, const models::NodeModel& model,
                                             const std::function<NeighborLoader()>& loader);
  /// Whether the step gathers the features. Else the loader does, and they are copied.
  static bool gathers(const Run& run);

  /// Sizes with room for nearly all batches, of some that were drawn: a multiple of 32 above the largest and
  /// above six standard deviations more than the mean.
  static BlockSizes room_for(const std::vector<BlockSizes>& drawn);
  /// Room for batches of `most` nodes and edges, with as many seeds as `first`.
  PaddedBatches(const Run& run, const NeighborBatch& first, const BlockSizes& most, size_t first_transposed);

  /// The batch in the storage, valid until the next call; or as it is, if it does not fit: that is then so
  /// on all ranks.
  NodeBatch place(const NeighborBatch& batch);

 private:
  bool fill(const NeighborBatch& batch);

  const Run& run_;
  const FeatureStore* store_;  // null: features are copied
  const int64_t seeds_;        // of this rank in a full batch
  PaddedBlocks storage_;
  std::vector<Block> blocks_;
  Tensor x_, y_, index_;
};

}  // namespace adj::training
