#pragma once

#include <adjoint/data/loader/neighbor_loader.h>
#include <adjoint/graph/padded_blocks.h>
#include <adjoint/training/run.h>

#include <memory>
#include <vector>

namespace adj::training {

/// Sampled batches of full size copied to one storage, in which a step over them is captured. Their sizes are
/// estimated from the first batches of the first epoch, so they depend on seed and options alone: a resumed
/// training has the same.
class PaddedBatches {
 public:
  /// Whether a run can have them: on a GPU, of features that are dense in a batch, with --no-capture absent,
  /// for a model that takes padded blocks.
  static bool possible(const Run& run, const models::NodeModel& model);
  /// Whether the step gathers the features. Else the loader does, and they are copied.
  static bool gathers(const Run& run);

  /// `loader`: of batches without plans, of which it draws some.
  PaddedBatches(const Run& run, const NeighborLoader& loader, size_t first_transposed);

  /// The batch in the storage, valid until the next call; or as it is, if it does not fit: that is then so
  /// on all ranks.
  NodeBatch place(const NeighborBatch& batch);

 private:
  bool fill(const NeighborBatch& batch);

  const Run& run_;
  const FeatureStore* store_;  // null: features are copied
  int64_t seeds_ = 0;          // of this rank in a full batch
  std::unique_ptr<PaddedBlocks> storage_;
  std::vector<Block> blocks_;
  Tensor x_, y_, index_;
};

}  // namespace adj::training
