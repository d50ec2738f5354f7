// Operands broadcast: aligned at the last dimension, an extent of 1 or one that is missing stretches to the
// other's, so that a scalar, a row [F] or [1,F] and a column [N,1] meet a matrix [N,F]. Shapes that do not
// fit throw, naming both. The gradient of an operand that was stretched is summed in a fixed order.
//
// Saved for backward: what the product rule asks for; of a quotient the divisor and the quotient.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

Var add(const Var& a, const Var& b);
Var subtract(const Var& a, const Var& b);

Var multiply(const Var& a, const Var& b);

Var divide(const Var& a, const Var& b);

/// factor * a.
Var scale(const Var& a, double factor);

/// alpha a + beta b, of one shape, in one pass.
Var linear_combination(double alpha, const Var& a, double beta, const Var& b);

/// x in another floating dtype; its gradient in x's own.
Var cast(const Var& x, DType dtype);

inline Var operator+(const Var& a, const Var& b) { return add(a, b); }
inline Var operator-(const Var& a, const Var& b) { return subtract(a, b); }
inline Var operator*(const Var& a, const Var& b) { return multiply(a, b); }
inline Var operator/(const Var& a, const Var& b) { return divide(a, b); }
inline Var operator-(const Var& a) { return scale(a, -1.0); }

Var operator+(const Var& a, double b);
Var operator+(double a, const Var& b);
Var operator-(const Var& a, double b);
Var operator-(double a, const Var& b);
inline Var operator*(const Var& a, double b) { return scale(a, b); }
inline Var operator*(double a, const Var& b) { return scale(b, a); }
/// a times 1 / b.
inline Var operator/(const Var& a, double b) { return scale(a, 1.0 / b); }
Var operator/(double a, const Var& b);

}  // namespace adj
