#pragma once

#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/tiles/row_tiles.h>

namespace adj::kernels {

/// Maximum features per head.
inline constexpr int64_t kMostTileSddmmWidth = 1024;

/// dw[order[e] or e] = ⟨Y_i, X_j⟩ per head for `y` [rows,F] and `x` [cols,F], like sddmm, for a cut structure
/// `a`: tiles by tensor cores on a GPU of compute capability 9.0 (has_tile_spmm), the rest by CSR rows. On a
/// GPU float32 features are rounded to 11 significant bits (float16, each matrix scaled by one power of two:
/// numbers no less than 2^-29 of its largest keep them all), bfloat16 ones stay unchanged; heads have at most
/// kMostTileSddmmWidth features. A CPU ignores tiles.
struct TileSddmmArgs {
  const CsrMatrix& a;
  const RowTiles& tiles;
  const Tensor& y;
  const Tensor& x;
  Tensor& dw;

  void check(std::string_view op) const {
    ADJ_CHECK(x.dtype() == DType::f32 || x.dtype() == DType::bf16,
              "{}: expected float32 or bfloat16 features, got {}", op, name_of(x.dtype()));
    ADJ_CHECK(tiles.rows == a.csr.rows && tiles.cols == a.csr.cols &&
                  tiles.rest.entries() <= a.csr.entries() && tiles.device() == a.device(),
              "{}: tiles of another structure: [{}, {}], expected [{}, {}]", op, tiles.rows, tiles.cols,
              a.csr.rows, a.csr.cols);
    SddmmArgs{.a = a, .y = y, .x = x, .dw = dw}.check(op);
  }
};
ADJ_KERNEL(tile_sddmm, TileSddmmArgs)  ///< sddmm over a cut.

}  // namespace adj::kernels
