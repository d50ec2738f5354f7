#pragma once

#include <adjoint/kernels/bits/bit_gemm.h>

namespace adj::kernels::cuda {

/// Bitwise equal to requantized(), in the low bits of a word, without conversion instructions: at 16 per
/// cycle, these would dominate. Adding 2^23 to a number in [0, 2^23] leaves it, rounded to nearest even, in
/// the low bits; kSmall: the sum is below 2^23 and is inserted into the bits of 2^23.
template <bool kSmall, class Sum>
__device__ __forceinline__ uint32_t quick_requantized(Sum sum, const BitRow& row, const BitColumn& column,
                                                      float largest) {
  constexpr float kTop = 8388608.0f;
  const float wide =
      kSmall ? __uint_as_float(static_cast<uint32_t>(sum) + 0x4b000000u) - kTop : static_cast<float>(sum);
  return __float_as_uint(fminf(requantized_unrounded(wide, row, column), largest) + kTop);
}

}  // namespace adj::kernels::cuda
