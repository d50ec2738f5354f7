// Operands broadcast as in NumPy: aligned at the last dimension, extents that are 1 or missing stretch to the
// other's, so a scalar, a row [F] or [1,F] and a column [N,1] combine with a matrix [N,F]. Incompatible
// shapes throw, naming both. The gradient of a stretched operand is summed in a fixed order.
//
// Saved for backward: the operands that the product rule needs; for a quotient the divisor and the quotient.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// a + b, broadcast as in NumPy. These four throw Error for shapes that do not broadcast, and for operands of
/// different dtypes or devices.
Var add(const Var& a, const Var& b);
Var subtract(const Var& a, const Var& b);  ///< a - b

Var multiply(const Var& a, const Var& b);  ///< a b, element by element

Var divide(const Var& a, const Var& b);  ///< a / b

Var scale(const Var& a, double factor);  ///< `factor` a, in a's dtype

/// alpha a + beta b for equal shapes, in one pass.
Var linear_combination(double alpha, const Var& a, double beta, const Var& b);

/// x in another floating dtype; the gradient has x's dtype.
Var cast(const Var& x, DType dtype);

inline Var operator+(const Var& a, const Var& b) { return add(a, b); }       ///< add()
inline Var operator-(const Var& a, const Var& b) { return subtract(a, b); }  ///< subtract()
inline Var operator*(const Var& a, const Var& b) { return multiply(a, b); }  ///< multiply()
inline Var operator/(const Var& a, const Var& b) { return divide(a, b); }    ///< divide()
inline Var operator-(const Var& a) { return scale(a, -1.0); }

Var operator+(const Var& a, double b);  ///< b is added to every element
Var operator+(double a, const Var& b);
Var operator-(const Var& a, double b);
Var operator-(double a, const Var& b);
inline Var operator*(const Var& a, double b) { return scale(a, b); }
inline Var operator*(double a, const Var& b) { return scale(b, a); }
/// Computed as a times 1 / b.
inline Var operator/(const Var& a, double b) { return scale(a, 1.0 / b); }
Var operator/(double a, const Var& b);

}  // namespace adj
