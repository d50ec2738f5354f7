#pragma once

#include <adjoint/core/dtype.h>

#include <cuda_fp16.h>

namespace adj::kernels::cuda {

/// IEEE half precision, 11 significant bits as TF32 has, as an operand of tensor cores; no tensor has this
/// dtype. Rounds to nearest, ties to even; beyond 65504 to infinity.
struct float16 {
  uint16_t bits = 0;

  float16() = default;
  __device__ explicit float16(float value) : bits(__half_as_ushort(__float2half_rn(value))) {}
  __device__ explicit operator float() const { return __half2float(__ushort_as_half(bits)); }
};

}  // namespace adj::kernels::cuda
