#pragma once

#include <adjoint/kernels/bits/bit_pack.h>

namespace adj::kernels::cuda {

/// Zeros the sums, and optionally the planes, in one launch that overlaps with others and that a kernel may
/// run beside (core/cuda/beside.cuh).
void clear_bits(BitTensor& bits, bool planes);

}  // namespace adj::kernels::cuda
