#pragma once

#include <adjoint/kernels/types/row_tiles.h>

namespace adj {

namespace kernels {

/// Cuts `a`, whose rows must ascend, on its device, in parallel; the result depends only on the structure and
/// `least` and is identical on every device. `least` is 1 to RowTiles::kRows: 1 puts every column into tiles.
/// On a GPU it synchronizes to read the number of tiles. Throws if a count exceeds 2^31 - 1.
RowTiles make_row_tiles(const Csr& a, int64_t least);

/// The same, made once and cached with the structure: `cut` if already made by the caller, else
/// find_or_make(). The store (kernels/tiles/cut_store.h) is notified.
std::shared_ptr<const RowTiles> row_tiles(const Csr& a, int64_t least,
                                          std::shared_ptr<RowTiles> cut = nullptr);

/// Throws Error "NAME/MEMBER: found, expected" unless `cut` is bitwise equal to make_row_tiles(a, cut.least),
/// which it makes. Both on the CPU. Nothing in `cut` is trusted.
void check_row_tiles(std::string_view name, const Csr& a, const RowTiles& cut);

namespace cpu {
RowTiles make_row_tiles(const Csr& a, int64_t least);
}
namespace cuda {
RowTiles make_row_tiles(const Csr& a, int64_t least);
}

}  // namespace kernels

}  // namespace adj
