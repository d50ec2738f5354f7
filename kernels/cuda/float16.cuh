#pragma once

#include <adjoint/core/dtype.h>

#include <type_traits>

#include <cuda_fp16.h>

namespace adj::kernels::cuda {

/// IEEE half precision, 11 significant bits as TF32 has, as an operand; no tensor has this dtype. Rounds to
/// nearest, ties to even; beyond 65504 to infinity.
struct float16 {
  uint16_t bits = 0;

  float16() = default;
  __device__ explicit float16(float value) : bits(__half_as_ushort(__float2half_rn(value))) {}
  __device__ explicit operator float() const { return __half2float(__ushort_as_half(bits)); }
};

/// The halves of a word.
__device__ __forceinline__ float lower_half(uint32_t word) {
  return __low2float(*reinterpret_cast<const __half2*>(&word));
}
__device__ __forceinline__ float upper_half(uint32_t word) {
  return __high2float(*reinterpret_cast<const __half2*>(&word));
}

/// What is computed from operands S is stored as.
template <class S>
using Result = std::conditional_t<std::is_same_v<S, float16>, float, S>;

}  // namespace adj::kernels::cuda

namespace adj {

template <>
struct WideOf<kernels::cuda::float16> {
  using type = float;
};

}  // namespace adj
