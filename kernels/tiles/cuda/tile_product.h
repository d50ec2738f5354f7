#pragma once

#include <adjoint/kernels/tiles/row_tiles.h>

namespace adj::kernels::cuda {

/// Operand types of the tensor cores, both 16 bits.
enum class TileOperand : uint8_t { float16, bfloat16 };

/// Distribution of a cut's tiles: block b of the grid takes tiles [begin(b), begin(b + 1)), one slab of
/// features after the other, so that all blocks gather from the same slab, which fits in L2. If a window is
/// split, the later block stores its sums separately.
struct TileShares {
  int tiles = 0;
  int slab = 64;  ///< features
  int slabs = 0;
  int blocks = 0;
  int share = 0, longer = 0;  ///< tiles per block; the first `longer` blocks have one more

  ADJ_HOST_DEVICE int begin(int block) const { return block * share + (block < longer ? block : longer); }
  /// The first block that begins after `tile`.
  ADJ_HOST_DEVICE int first_after(int tile) const {
    const int in_longer = longer * (share + 1);
    return 1 + (tile < in_longer ? tile / (share + 1) : longer + (tile - in_longer) / share);
  }
};

/// For `width` features, on a GPU with that many SMs.
TileShares tile_shares(const RowTiles& tiles, int64_t width, int multiprocessors);
/// Number of SMs for tile_product() while the others sum the rest, so that both finish together: from counts
/// only, by the measured cost of a tile and of an entry of the rest per SM (one H200).
int multiprocessors_beside_rest(const RowTiles& tiles, bool weighted, int multiprocessors);

/// Product of a cut's tiles with a matrix.
struct TileProduct {
  const RowTiles& tiles;
  TileShares shares;
  TileOperand operand;
  const uint32_t* values;    ///< places and operands, as in TileValues; null: ones
  const float* value_scale;  ///< multiplier of the operands; null: 1
  const void* x;             ///< operands [cols, pitch]; rows aligned to 16 bytes
  int64_t pitch;             ///< operands per row, a multiple of 8, all readable
  Tensor& parts;             ///< float32 [windows + blocks, kRows, pitch]
};

/// parts[w] = value_scale * Σ over the tiles of window w of (their values) (their columns' rows of x), in
/// float32. If several blocks share a window, parts[w] has the sum of the first one and parts[windows + b]
/// that of each block b that begins within it. Parts of windows without tiles are not written. A non-finite
/// sum is recomputed over its own entries alone, since tensor cores also multiply by zeros: NaN reaches only
/// its neighbors.
void tile_product(const TileProduct& product);

}  // namespace adj::kernels::cuda
