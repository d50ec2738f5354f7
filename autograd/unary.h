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
Var abs(const Var& x);         ///< |x|, gradient 0 at 0
Var sin(const Var& x);         ///< sine of x in radians
Var cos(const Var& x);         ///< cosine of x in radians
/// x^exponent: NaN for x < 0 unless the exponent is a whole number.
Var pow(const Var& x, double exponent);
/// min(max(x, low), high); the gradient is that of x within the bounds, which included, else 0. Throws Error
/// if low > high.
Var clamp(const Var& x, double low, double high);
/// 1 / √x, or 0 (with gradient 0) if x is not positive: for degree normalisation.
Var inverse_sqrt(const Var& x);

}  // namespace adj
