#pragma once

#include <adjoint/kernels/bits/bit_gemm.h>

namespace adj::kernels::cuda {

/// requantized() to the bit, in the last bits of a word, without an instruction that converts: 16 a cycle,
/// these would take longer than all else. 2^23 added to a number within 0 and 2^23 leaves it, rounded to
/// nearest even, in the last bits; kSmall: a sum less than 2^23 put there is that many more than 2^23.
template <bool kSmall, class Sum>
__device__ __forceinline__ uint32_t quick_requantized(Sum sum, const BitRow& row, const BitColumn& column,
                                                      float largest) {
  constexpr float kTop = 8388608.0f;
  const float wide =
      kSmall ? __uint_as_float(static_cast<uint32_t>(sum) + 0x4b000000u) - kTop : static_cast<float>(sum);
  return __float_as_uint(fminf(requantized_unrounded(wide, row, column), largest) + kTop);
}

}  // namespace adj::kernels::cuda
