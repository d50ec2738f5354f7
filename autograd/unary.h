// Saved for backward: the output, which the next op saves anyway; for log the input
// (kernels/elementwise/unary.h).
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

// Elementwise, any shape.
Var exp(const Var& x);         ///< e^x
Var log(const Var& x);         ///< natural logarithm: -inf at 0, NaN below
Var sqrt(const Var& x);        ///< √x: NaN for x < 0, gradient inf at 0
Var sigmoid(const Var& x);     ///< 1 / (1 + e^-x)
Var tanh(const Var& x);        ///< hyperbolic tangent
Var reciprocal(const Var& x);  ///< 1 / x: inf at 0
/// 1 / √x, or 0 (with gradient 0) if x is not positive: for degree normalisation.
Var inverse_sqrt(const Var& x);

}  // namespace adj
