#pragma once

#include "../support.h"
#include <adjoint/kernels/bits/bit_range.h>

// Operands for tests of bit tensors.
namespace adj::test {

inline Tensor scalar(float value, Device device = {}) { return Tensor::full({1}, value, DType::f32, device); }

/// An empty bit tensor with one scale and one zero.
inline BitTensor empty_bits(int64_t rows, int64_t cols, int bits, float scale, float zero, Device device,
                            bool bytes = false) {
  return BitTensor::empty(rows, cols, bits, scalar(scale, device), scalar(zero, device), device, bytes);
}

}  // namespace adj::test
