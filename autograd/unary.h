// Saved for backward: the output, which the next op saves anyway; for log the input
// (kernels/elementwise/unary.h).
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

// Elementwise, any shape.
Var exp(const Var& x);
Var log(const Var& x);
Var sqrt(const Var& x);
Var sigmoid(const Var& x);
Var tanh(const Var& x);
Var reciprocal(const Var& x);
/// 1 / √x, or 0 (with gradient 0) if x is not positive: for degree normalisation.
Var inverse_sqrt(const Var& x);

}  // namespace adj
