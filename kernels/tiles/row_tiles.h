#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj {

/// A structure cut in two for tensor cores: tiles, and the rest. Windows are kRows rows one after the other.
/// The columns of a window with entries in at least `least` rows are condensed, kColumns of them to a tile
/// (sparse graph translation, TC-GNN section 4.1); a dense block of a community comes out as dense tiles. The
/// entries of all other columns are the rest, a CSR structure. Parallel entries are columns of their own, up
/// to kLevels of them: the second entries of the rows that have two, and so on.
///
/// Bit k of bits[t][r] tells whether row r of the window has an entry in column k of tile t. Values of a tile
/// stand by row, then by column; those of row r begin at starts[t][r]. Each tile's begin at a multiple of
/// kValueAlignment.
struct RowTiles {
  static constexpr int kRows = 128, kColumns = 64;
  static constexpr int kLevels = 4;
  static constexpr int kValueAlignment = 4;

  int64_t rows = 0;
  int64_t cols = 0;
  int64_t least = 0;
  Tensor windows;     ///< int32 [windows + 1]: tiles of window w are [windows[w], windows[w + 1])
  Tensor window_of;   ///< int32 [tiles]
  Tensor columns;     ///< int32 [tiles, kColumns], not falling; behind a window's last column that one again
  Tensor bits;        ///< int64 [tiles, kRows]
  Tensor starts;      ///< int32 [tiles * kRows + 1]
  Tensor entries;     ///< int32 [values]: which entry of the structure; -1 where a tile is padded
  Csr rest;           ///< [rows, cols]
  Tensor rest_entry;  ///< int32 [entries of the rest]: which entry of the structure

  int64_t num_windows() const { return windows.numel() - 1; }
  int64_t num_tiles() const { return bits.size(0); }
  Device device() const { return windows.device(); }
  /// Bytes of all of it.
  int64_t bytes() const;
  RowTiles to(Device device) const;
};

namespace kernels {

/// Cuts `a`, whose rows must ascend, on its device, in parallel; the result is a function of the structure
/// and of `least` alone, the same on every device. `least` is 1 to RowTiles::kRows: 1 puts every column into
/// tiles. On a GPU the host waits for the number of tiles. Throws where a count exceeds 2^31 - 1.
RowTiles make_row_tiles(const Csr& a, int64_t least);

/// Likewise, made once and kept with the structure: `cut` where the caller has made it already, else what
/// find_or_make() gives. The store (kernels/tiles/cut_store.h) is told.
std::shared_ptr<const RowTiles> row_tiles(const Csr& a, int64_t least,
                                          std::shared_ptr<RowTiles> cut = nullptr);

/// Throws Error "NAME/MEMBER: what was found, what was expected" unless `cut` is make_row_tiles(a, cut.least)
/// to the bit. Both on the CPU. Nothing of `cut` is taken for granted. O(entries), but for sorting what each
/// window leaves to the rest; in parallel.
void check_row_tiles(std::string_view name, const Csr& a, const RowTiles& cut);

namespace cpu {
RowTiles make_row_tiles(const Csr& a, int64_t least);
}
namespace cuda {
RowTiles make_row_tiles(const Csr& a, int64_t least);
}

}  // namespace kernels

}  // namespace adj
