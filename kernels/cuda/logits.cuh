#pragma once

// Arithmetic of attention logits, for the passes over rows and over tiles.

namespace adj::kernels::cuda {

template <class A>
constexpr A kLog2E = A(1.4426950408889634074);
template <class A>
constexpr A kLn2 = A(0.69314718055994530942);

/// 2^x.
__device__ __forceinline__ float power_of_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ double power_of_2(double x) { return exp2(x); }

/// d leaky_relu(z) / dz; leaky_relu(z) is z times it.
template <class A>
__device__ __forceinline__ A leaky_slope(A z, A slope) {
  return z > A(0) ? A(1) : slope;
}

/// Finite lower bound of every number but -inf, so that differences to -inf are defined.
template <class A>
__device__ __forceinline__ A lowest() {
  if constexpr (sizeof(A) == 8) return A(-1.7976931348623157e308);
  return A(-3.402823466e38f);
}

}  // namespace adj::kernels::cuda
