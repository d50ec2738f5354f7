#pragma once

#include <adjoint/core/parallel.h>
#include <adjoint/core/tensor.h>

namespace adj {

/// Rows of unsigned integers q of 1 to kMostBits bits, [N, cols], with their dequantization scale (q - zero):
/// features whose rows are gathered, and dequantized in batches before products. Eight adjacent numbers
/// (kGroup) take `bits` bytes, byte p holding bit p of each; rows are not padded beyond these row_bytes().
/// (A BitTensor's rows are padded to 1024 numbers, for tensor cores.)
struct PackedRows {
  static constexpr int64_t kGroup = 8;
  static constexpr int kMostBits = 8;

  int64_t cols = 0;
  int bits = 0;
  Tensor bytes;        ///< uint8 [N, bits ceil(cols / 8)]; zero after the last column
  Tensor scale, zero;  ///< float32 [1], or [cols]: per column

  static int64_t row_bytes(int64_t cols, int bits) { return bits * ceil_div(cols, kGroup); }
  int64_t rows() const { return bytes.size(0); }
  int largest() const { return (1 << bits) - 1; }   ///< the largest q
  Device device() const { return bytes.device(); }  ///< of all its tensors
  PackedRows to(Device where) const { return {cols, bits, bytes.to(where), scale.to(where), zero.to(where)}; }
};

}  // namespace adj
