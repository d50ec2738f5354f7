#pragma once

#include <adjoint/kernels/tiles/cuda/operands.h>

namespace adj::kernels::cuda {

/// dw[entry, h] = ⟨row_i, column_j⟩ per head, for the entries (i, j) in tiles.
struct TileDots {
  const RowTiles& tiles;
  int64_t heads;
  const OperandFeatures& row_features;     ///< [rows, heads * pitch]
  const OperandFeatures& column_features;  ///< [cols, heads * pitch]
  int64_t pitch;                           ///< operands per row and head
  const Tensor& order;                     ///< int32 [M], index of the entry's value; or absent
  Tensor& dw;                              ///< float32 [M,H]
};

void tile_dots(const TileDots& dots);

}  // namespace adj::kernels::cuda
