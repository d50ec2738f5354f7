#pragma once

#include <adjoint/core/device.h>
#include <adjoint/kernels/types/row_tiles.h>

namespace adj::kernels {

/// What a device does in a nanosecond at its highest clocks, from its properties; zeros for a CPU.
struct DeviceRates {
  double cycles = 0.0;  ///< of all multiprocessors together
  double l2 = 0.0;      ///< MiB of L2 times clock: its slices, which its bandwidth grows with
  double memory = 0.0;  ///< bytes
};

DeviceRates device_rates(Device device);  ///< throws Error if it is not available

namespace cuda {
DeviceRates device_rates(Device device);
}  // namespace cuda

/// Rows of a window that a column must have to be in a tile of a hybrid cut. A column costs a tile one row of
/// features, and the rest one for each entry, so that two rows already pay off.
inline constexpr int64_t kHybridLeast = 2;

/// Sizes of a structure, `rows`, `cols` and `entries`, and of the parts of its cut, `tiles` and rest.
struct CutCounts {
  int64_t rows = 0, cols = 0, entries = 0;
  int64_t tiles = 0;
  int64_t rest = 0;     ///< entries outside of the tiles
  double cut_ms = 0.0;  ///< time for cutting, or reading the cut, if explaining()

  CutCounts() = default;
  CutCounts(const Csr& a, const RowTiles& cut)
      : rows(a.rows), cols(a.cols), entries(a.entries()), tiles(cut.num_tiles()), rest(cut.rest.entries()) {}
  /// Columns of all windows; those of tiles with their padding.
  double columns() const { return static_cast<double>(tiles * RowTiles::kColumns + rest); }
};

/// The kind of product: Y = A X without weights or with weights that factor into a row term times a column
/// term; with weights cached in the cut's order; with weights permuted into that order each time; products of
/// rows per entry (SDDMM); both gradients of a product, by A's transpose, with permuted weights.
enum class TiledOp : uint8_t { product, kept_weights, new_weights, entry_products, gradients };

/// Costs compared by the rule of SparseKernels::automatic, in nanoseconds, for a device of these rates
/// (docs/tensor_cores.md): `csr` without tiles, `hybrid` with them and the rest; tiles() says if they win.
struct TileCost {
  double csr = 0.0;
  double hybrid = 0.0;
  bool tiles() const { return hybrid < csr; }
};
/// For one product with `width` features per row.
TileCost tile_cost(const CutCounts& counts, const DeviceRates& rates, int64_t width, DType features,
                   TiledOp op);
/// For attention, forward and backward, whose edges gather `gathered` rows of features (2: keys and values;
/// 1: GAT), over a structure whose transpose is cut too.
TileCost attention_tile_cost(const CutCounts& counts, const DeviceRates& rates, int64_t heads, int64_t width,
                             int64_t gathered, DType features);

}  // namespace adj::kernels
