#pragma once

#include <adjoint/kernels/bits/bit_pack.h>

namespace adj::kernels::cuda {

/// Zeros in the sums, and in the planes where they are asked for, by one launch that overlaps with others.
void clear_bits(BitTensor& to, bool planes);

/// q as bytes, uint8 [steps of 128 numbers, padded rows, 128]: a BitTensor's plane, but for a byte a number.
Tensor expand_bits(const BitTensor& from);

}  // namespace adj::kernels::cuda
