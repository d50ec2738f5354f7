#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/activation.h>

namespace adj {

/// act(x), any shape. `slope` is leaky_relu's below zero.
Var activate(Activation activation, const Var& x, float slope = 0.01f);
Var relu(const Var& x);
Var leaky_relu(const Var& x, float slope = 0.01f);
Var elu(const Var& x);
Var gelu(const Var& x);

}  // namespace adj
