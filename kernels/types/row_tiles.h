#pragma once

#include <adjoint/kernels/types/csr.h>

namespace adj {

/// A structure split in two for tensor cores: tiles and the rest. A window is kRows consecutive rows. Its
/// columns with entries in at least `least` rows are condensed, kColumns per tile (sparse graph translation,
/// TC-GNN section 4.1); a dense community block becomes dense tiles. The entries of all other columns are the
/// rest, a CSR structure. Parallel entries are separate columns, up to kLevels of them: the second entries of
/// all rows that have two, and so on.
///
/// Bit k of bits[t][r] is set if row r of the window has an entry in column k of tile t. A tile's values are
/// ordered by row, then by column; those of row r begin at starts[t][r]. Each tile's values begin at a
/// multiple of kValueAlignment.
struct RowTiles {
  static constexpr int kRows = 128, kColumns = 64;
  static constexpr int kLevels = 4;
  static constexpr int kValueAlignment = 4;

  int64_t rows = 0;
  int64_t cols = 0;  ///< of the structure
  int64_t least = 0;
  Tensor windows;    ///< int32 [windows + 1]: tiles of window w are [windows[w], windows[w + 1])
  Tensor window_of;  ///< int32 [tiles]
  Tensor columns;  ///< int32 [tiles, kColumns], non-decreasing; padded by repeating the window's last column
  Tensor bits;     ///< int64 [tiles, kRows]
  Tensor starts;   ///< int32 [tiles * kRows + 1]
  Tensor entries;  ///< int32 [values]: index of the structure's entry; -1 for tile padding
  Csr rest;        ///< [rows, cols]
  Tensor rest_entry;  ///< int32 [entries of the rest]: index of the structure's entry

  int64_t num_windows() const { return windows.numel() - 1; }  ///< rows / kRows, rounded up
  int64_t num_tiles() const { return bits.size(0); }           ///< of all windows
  Device device() const { return windows.device(); }           ///< of all its tensors
  /// Total bytes.
  int64_t bytes() const;
  RowTiles to(Device device) const;
};

namespace kernels {

/// The widest head that attention over tiles takes.
inline constexpr int64_t kWidestTileHead = 128;

}  // namespace kernels

}  // namespace adj
