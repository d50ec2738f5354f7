#pragma once

#include <adjoint/kernels/cpu/vector_math.h>
#include <adjoint/kernels/elementwise/unary.h>

namespace adj::kernels::cpu {

/// act(x) of one element; `slope` is used by leaky_relu.
template <Activation A, class T>
inline T activated(T x, [[maybe_unused]] T slope) {
  if constexpr (A == Activation::relu) {
    return x < T{0} ? T{0} : x;
  } else if constexpr (A == Activation::leaky_relu) {
    return x < T{0} ? slope * x : x;
  } else if constexpr (A == Activation::elu) {
    const T below = x < T{0} ? x : T{0}, above = x < T{0} ? T{0} : x;
    return above + fast_expm1(below);
  } else if constexpr (A == Activation::gelu) {
    return x * fast_normal(x).cdf;
  } else {
    return x;
  }
}

/// act'(x); 0 for relu at 0.
template <Activation A, class T>
inline T activation_slope(T x, [[maybe_unused]] T slope) {
  if constexpr (A == Activation::relu) {
    return x > T{0} ? T{1} : T{0};
  } else if constexpr (A == Activation::leaky_relu) {
    return x > T{0} ? T{1} : slope;
  } else if constexpr (A == Activation::elu) {
    return fast_exp(x < T{0} ? x : T{0});
  } else if constexpr (A == Activation::gelu) {
    const Normal<T> normal = fast_normal(x);
    return normal.cdf + x * normal.density;
  } else {
    return T{1};
  }
}

}  // namespace adj::kernels::cpu
