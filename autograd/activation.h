#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/types/activation.h>

namespace adj {

/// act(x) for any shape; `slope` is the negative slope of leaky_relu.
Var activate(Activation activation, const Var& x, float slope = kLeakySlope);

inline Var relu(const Var& x) { return activate(Activation::relu, x); }
inline Var leaky_relu(const Var& x, float slope = kLeakySlope) {
  return activate(Activation::leaky_relu, x, slope);
}
inline Var elu(const Var& x) { return activate(Activation::elu, x); }
inline Var gelu(const Var& x) { return activate(Activation::gelu, x); }

}  // namespace adj
