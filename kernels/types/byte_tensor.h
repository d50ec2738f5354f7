#pragma once

#include <adjoint/core/parallel.h>
#include <adjoint/core/tensor.h>

namespace adj {

/// Unsigned integers q [N, width] of 1 to 8 bits, one byte each or, up to 4 bits, half a byte (lower half
/// first), with their dequantization scale (q - zero): for row gathers, where a BitTensor would be read plane
/// by plane. Rows are padded with arbitrary bytes to pitch() bytes, so that 16 are read at once and a row
/// covers whole 32-byte sectors; `narrow` rows, for copies, are not, and 1 or 2 bits take no more than that.
struct ByteTensor {
  int bits = 0;
  int64_t width = 0;
  Tensor bytes;        ///< uint8 [N, pitch()]
  Tensor scale, zero;  ///< float32 [1]
  bool narrow = false;

  static bool halves(int bits) { return bits <= 4; }  ///< unless narrow, two numbers per byte
  static int64_t pitch(int64_t width, int bits) {
    const int64_t used = halves(bits) ? ceil_div(width, int64_t{2}) : width;
    return used <= 16 ? 16 : ceil_div(used, int64_t{32}) * 32;
  }
  /// Allocates the bytes; scale and zero are shared.
  static ByteTensor empty(int64_t rows, int64_t width, int bits, const Tensor& scale, const Tensor& zero,
                          Device device) {
    return {bits, width, Tensor::empty({rows, pitch(width, bits)}, DType::u8, device), scale, zero};
  }
  Device device() const { return bytes.device(); }  ///< of all its tensors
  bool halves() const { return halves(bits); }
  /// Bits that a number takes of its byte.
  int place_bits() const { return narrow && bits <= 2 ? bits : halves() ? 4 : 8; }
  int64_t pitch() const { return narrow ? ceil_div(width * place_bits(), int64_t{8}) : pitch(width, bits); }
  int64_t rows() const { return bytes.shape()[0]; }  ///< N
  int largest() const { return (1 << bits) - 1; }    ///< the largest q
  ByteTensor to(Device device) const {
    return {bits, width, bytes.to(device), scale.to(device), zero.to(device), narrow};
  }
};

}  // namespace adj
