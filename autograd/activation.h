#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/types/activation.h>

namespace adj {

/// act(x) for any shape; `slope` is the negative slope of leaky_relu.
Var activate(Activation activation, const Var& x, float slope = kLeakySlope);

inline Var relu(const Var& x) { return activate(Activation::relu, x); }  ///< max(x, 0); gradient 0 at 0
/// x for x >= 0, else `slope` x.
inline Var leaky_relu(const Var& x, float slope = kLeakySlope) {
  return activate(Activation::leaky_relu, x, slope);
}
inline Var elu(const Var& x) { return activate(Activation::elu, x); }    ///< x for x >= 0, else e^x - 1
inline Var gelu(const Var& x) { return activate(Activation::gelu, x); }  ///< x Φ(x) by erf, not by tanh

}  // namespace adj
