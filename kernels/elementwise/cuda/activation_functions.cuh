#pragma once

#include <adjoint/kernels/elementwise/unary.h>

namespace adj::kernels::cuda {

/// act(x) of one element; `slope` is used by leaky_relu.
template <Activation A, class T>
__device__ __forceinline__ T activated(T x, [[maybe_unused]] T slope) {
  if constexpr (A == Activation::relu) {
    return x < T{0} ? T{0} : x;
  } else if constexpr (A == Activation::leaky_relu) {
    return x < T{0} ? slope * x : x;
  } else if constexpr (A == Activation::elu) {
    return x < T{0} ? expm1(x) : x;
  } else if constexpr (A == Activation::gelu) {
    return x * normcdf(x);
  } else {
    return x;
  }
}

/// act'(x); 0 for relu at 0.
template <Activation A, class T>
__device__ __forceinline__ T activation_slope(T x, [[maybe_unused]] T slope) {
  if constexpr (A == Activation::relu) {
    return x > T{0} ? T{1} : T{0};
  } else if constexpr (A == Activation::leaky_relu) {
    return x > T{0} ? T{1} : slope;
  } else if constexpr (A == Activation::elu) {
    return x > T{0} ? T{1} : exp(x);
  } else if constexpr (A == Activation::gelu) {
    constexpr T kDensity = static_cast<T>(0.39894228040143267794);  // 1 / sqrt(2 pi)
    return normcdf(x) + x * kDensity * exp(T{-0.5} * x * x);
  } else {
    return T{1};
  }
}

}  // namespace adj::kernels::cuda
