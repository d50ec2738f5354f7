#pragma once

#include <adjoint/kernels/tiles/cuda/tile_product.h>

namespace adj::kernels::cuda {

/// Features as operands of tensor cores.
struct OperandFeatures {
  TileOperand operand = TileOperand::bfloat16;
  Tensor kept;  ///< the operands, where they are not the features themselves
  const void* data = nullptr;
  int64_t pitch = 0;    ///< of a row, a multiple of 8
  Tensor column_scale;  ///< float32 [pitch]: what sums are to be multiplied by; absent: 1

  /// On the device: of the columns, or the one of all; null: 1.
  const float* scale() const { return column_scale ? column_scale.data<float>() : nullptr; }
};

/// What is scaled by one power of two: where features are summed over rows, a column; where they are
/// multiplied with others and summed, all of them.
enum class OperandScale : uint8_t { of_columns, of_all };

/// Of features [n,F] in float32, rows times `factor` [n] (float32; absent: 1): float16 (see TileSpmmArgs),
/// from two passes over them. In bfloat16: as they are, unless there are factors, or rows are not aligned to
/// 16 bytes; then padded with zeros.
OperandFeatures operand_features(const Tensor& x, OperandScale scale = OperandScale::of_columns,
                                 const Tensor& factor = {});

}  // namespace adj::kernels::cuda
