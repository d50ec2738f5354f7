#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

// Element by element, equal shapes; anything else throws, naming both.
Var add(const Var& a, const Var& b);
Var subtract(const Var& a, const Var& b);
Var multiply(const Var& a, const Var& b);
Var scale(const Var& a, double factor);
/// x[N,F] + bias[F].
Var add_bias(const Var& x, const Var& bias);

inline Var operator+(const Var& a, const Var& b) { return add(a, b); }
inline Var operator-(const Var& a, const Var& b) { return subtract(a, b); }
inline Var operator*(const Var& a, const Var& b) { return multiply(a, b); }
inline Var operator*(const Var& a, double factor) { return scale(a, factor); }
inline Var operator*(double factor, const Var& a) { return scale(a, factor); }

}  // namespace adj
