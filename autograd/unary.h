// Saved for backward: the output, which the next op keeps anyway; log's input (kernels/elementwise/unary.h).
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

// Element by element, any shape.
Var exp(const Var& x);
Var log(const Var& x);
Var sqrt(const Var& x);
Var sigmoid(const Var& x);
Var tanh(const Var& x);
Var reciprocal(const Var& x);
/// 1 / √x, and 0 (with a gradient of 0) where x is not positive: what degrees are normalised with.
Var inverse_sqrt(const Var& x);

}  // namespace adj
