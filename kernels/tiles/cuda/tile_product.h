#pragma once

#include <adjoint/kernels/tiles/row_tiles.h>

namespace adj::kernels::cuda {

/// What operands of tensor cores are: both have 16 bits.
enum class TileOperand : uint8_t { float16, bfloat16 };

/// How the tiles of a cut are shared out: block b of the grid takes tiles [begin(b), begin(b + 1)), for one
/// slab of features after the other, so that all blocks gather from the same slab, which L2 holds. Where a
/// window is cut in two, the later block leaves its sums apart.
struct TileShares {
  int tiles = 0;
  int slab = 64;  ///< features
  int slabs = 0;
  int blocks = 0;
  int share = 0, longer = 0;  ///< tiles of a block; so many first blocks have one more

  ADJ_HOST_DEVICE int begin(int block) const { return block * share + (block < longer ? block : longer); }
  /// The first block that begins after `tile`.
  ADJ_HOST_DEVICE int first_after(int tile) const {
    const int in_longer = longer * (share + 1);
    return 1 + (tile < in_longer ? tile / (share + 1) : longer + (tile - in_longer) / share);
  }
};

/// For `width` features, on a GPU of so many multiprocessors.
TileShares tile_shares(const RowTiles& tiles, int64_t width, int multiprocessors);
/// How many of them tile_product() is to have while the others sum the rest, so that both end together: by
/// counts alone, from what a tile and an entry of the rest take a multiprocessor (one H200).
int multiprocessors_beside_rest(const RowTiles& tiles, bool weighted, int multiprocessors);

/// What the tiles of a cut are multiplied with.
struct TileProduct {
  const RowTiles& tiles;
  TileShares shares;
  TileOperand operand;
  const uint32_t* values;    ///< places and operands, as TileValues has them; null: ones
  const float* value_scale;  ///< what operands are to be multiplied by; null: 1
  const void* x;             ///< operands [cols, pitch]; rows aligned to 16 bytes
  int64_t pitch;             ///< operands of a row, a multiple of 8, all of them readable
  Tensor& parts;             ///< float32 [windows + blocks, kRows, pitch]
};

/// parts[w] = value_scale * Σ over the tiles of window w of (their values) (their columns' rows of x), in
/// float32; of a window that several blocks share what the first one has of it, and in parts[windows + b]
/// what block b has, where it begins within a window. Parts of windows without tiles are not written. A sum
/// that is not finite is summed again over its own entries alone, since tensor cores multiply by zeros
/// besides: a NaN reaches its neighbours and nothing else.
void tile_product(const TileProduct& product);

}  // namespace adj::kernels::cuda
