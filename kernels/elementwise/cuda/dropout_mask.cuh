#pragma once

#include <adjoint/core/random.h>

namespace adj::kernels::cuda {

/// Kernel view of the dropout decisions of one sequence. In a captured step the stream number is read from
/// device memory.
struct DropoutMask {
  RandomKey key;
  uint32_t threshold;

  /// Bit k: position first + k is kept, k < N. N divides 8 and `first` is a multiple of N: one Philox block.
  template <int N>
  __device__ __forceinline__ uint32_t kept(int64_t first) const {
    static_assert(8 % N == 0);
    const uint64_t stream = key.stream + (key.base != nullptr ? *key.base : 0);
    const PhiloxBlock block = philox(key.seed, stream, key.first_block + static_cast<uint64_t>(first) / 8);
    // Computes all eight, then selects: dynamic indexing of a half-word would put the block into local
    // memory.
    uint32_t bits = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) bits |= static_cast<uint32_t>(dropout_keeps(block, k, threshold)) << k;
    return bits >> static_cast<uint32_t>(first % 8);
  }
};

}  // namespace adj::kernels::cuda
