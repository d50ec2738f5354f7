#pragma once

#include <adjoint/core/dtype.h>

#include <type_traits>

#include <cuda_fp16.h>

namespace adj::kernels::cuda {

/// IEEE half precision as an operand type (11 significant bits, like TF32); no tensor has this dtype. Rounds
/// to nearest even; infinity beyond 65504.
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

/// Storage type of results computed from operands S.
template <class S>
using Result = std::conditional_t<std::is_same_v<S, float16>, float, S>;

}  // namespace adj::kernels::cuda

namespace adj {

template <>
struct AccumulatorOf<kernels::cuda::float16> {
  using type = float;
};

}  // namespace adj
