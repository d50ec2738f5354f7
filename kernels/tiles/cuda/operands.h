#pragma once

#include <adjoint/kernels/tiles/cuda/tile_product.h>

namespace adj::kernels::cuda {

/// Features as tensor-core operands.
struct OperandFeatures {
  TileOperand operand = TileOperand::bfloat16;
  Tensor kept;  ///< the operands, if they are not the features themselves
  const void* data = nullptr;
  int64_t pitch = 0;    ///< per row, a multiple of 8
  Tensor column_scale;  ///< float32 [pitch]: multiplier of the sums; absent: 1

  /// On the device: per column, or one for all; null: 1.
  const float* scale() const { return column_scale ? column_scale.data<float>() : nullptr; }
};

/// Granularity of the power-of-two scale: per column if features are summed over rows; one for all if they
/// are multiplied with others and summed.
enum class OperandScale : uint8_t { of_columns, of_all };

/// Operands of features [n,F], rows times `factor` [n] (float32; absent: 1). float32: float16 (see
/// TileSpmmArgs), in two passes. bfloat16: unchanged, unless there are factors or rows are not aligned to 16
/// bytes; then padded with zeros.
OperandFeatures operand_features(const Tensor& x, OperandScale scale = OperandScale::of_columns,
                                 const Tensor& factor = {});

}  // namespace adj::kernels::cuda
