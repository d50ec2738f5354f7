#pragma once

#include <adjoint/kernels/types/csr.h>

#include <vector>

namespace adj {

/// Number of tiles with at least `least` entries, and the entries in them.
struct TileCount {
  int64_t least, tiles, entries;
};

/// Occupancy of the aligned `height` x `width` tiles of a matrix, for each threshold in `least`: the work of
/// tensor cores, and the gathers saved by a product over row windows. With `width` 1 a tile is a column of a
/// row window, as condensed by "sparse graph translation" (TC-GNN, section 4.1); entries / tiles is then the
/// reuse of a gathered row. Parallel edges count separately. The structure must be on the host; O(entries).
/// Throws unless height, width and all thresholds are 1 to 2^31 - 1.
std::vector<TileCount> window_reuse(const Csr& a, int64_t height, int64_t width,
                                    const std::vector<int64_t>& least);

}  // namespace adj
