#pragma once

#include <adjoint/kernels/sparse/csr.h>

#include <vector>

namespace adj {

/// Tiles of at least so many entries, and the entries in them.
struct TileCount {
  int64_t least, tiles, entries;
};

/// How full the aligned tiles of `height` x `width` of a matrix are, for each number of `least`: what tensor
/// cores would have to multiply, and what a product over windows of rows saves of the gathers. With `width`
/// 1 a tile is a column of a row window, as "sparse graph translation" condenses them (TC-GNN, section 4.1);
/// entries / tiles is then the reuse of a gathered row. Parallel edges count each. On the host, where the
/// structure must be; O(entries). Throws unless height, width and every number of `least` are 1 to 2^31 - 1.
std::vector<TileCount> window_reuse(const Csr& a, int64_t height, int64_t width,
                                    const std::vector<int64_t>& least);

}  // namespace adj
