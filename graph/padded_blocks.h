#pragma once

#include <adjoint/graph/block.h>

#include <span>
#include <vector>

namespace adj {

/// Sizes of the blocks of a batch, of which each has the targets of the one before as its sources.
struct BlockSizes {
  std::vector<int64_t> nodes;  ///< of L + 1 for L blocks: the sources of each, and the last one's targets
  std::vector<int64_t> edges;  ///< of each

  /// Of these blocks, one or more.
  static BlockSizes count(std::span<const Block> blocks);
};

/// Storage for the blocks of one batch after another, at the same addresses and of the same sizes, so that a
/// training step over them can be captured as a CUDA graph (optim::CapturedStep):
///
///   PaddedBlocks storage(most, batch.blocks, device);
///   if (storage.fill(batch.blocks)) step(storage.blocks());
///
/// Beyond a batch's own nodes and edges are others that no own node is connected with: sources of id 0,
/// targets, and edges from those to these, as even as the numbers allow. So rows of own nodes are as in the
/// batch itself, in any model in which a row depends on nothing but its in-edges, and if no loss depends on
/// the other rows, their gradients are zeros.
class PaddedBlocks {
 public:
  /// Room for batches of at most `most` nodes and edges, none of edge attributes, like `blocks` in having
  /// weights or not. Blocks from number `first_transposed` on have their transposes. Throws for sizes that
  /// are no chain.
  PaddedBlocks(BlockSizes most, std::span<const Block> blocks, Device device, size_t first_transposed = 0);

  /// Copies a batch, on the storage's device, in one launch. False, with nothing done, if it does not fit: a
  /// block with further edges also needs a further source and target.
  bool fill(std::span<const Block> blocks);
  /// Handles to the storage, with nothing derived but transposes. Without edge numbers.
  std::vector<Block> blocks() const;
  const BlockSizes& sizes() const { return sizes_; }  ///< of the storage, as passed to the constructor

 private:
  struct Storage {
    Csr in_edges;      ///< rows are targets
    Csr out_edges;     ///< its transpose, if it has one
    Tensor out_order;  ///< absent without a transpose
    Tensor weight;     ///< absent without weights
    /// Whether it has a transpose.
    bool transposed() const { return static_cast<bool>(out_order); }
  };

  BlockSizes sizes_;
  Tensor nodes_;  // ids of the first block's sources, which begin with those of all others
  std::vector<Storage> storage_;
};

}  // namespace adj
