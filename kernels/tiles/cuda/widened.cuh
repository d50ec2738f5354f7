#pragma once

#include <adjoint/kernels/cuda/float16.cuh>

#include <type_traits>

namespace adj::kernels::cuda {

/// The two operands of a word.
template <class Operand>
__device__ __forceinline__ float2 widened(uint32_t word) {
  if constexpr (std::is_same_v<Operand, bfloat16>) {
    return {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u)};
  } else {
    return __half22float2(*reinterpret_cast<const __half2*>(&word));
  }
}

}  // namespace adj::kernels::cuda
