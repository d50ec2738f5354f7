// Saved for backward: the output, which the next op keeps anyway; log's input (kernels/elementwise/unary.h).
#pragma once

#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/elementwise/unary.h>

namespace adj {

namespace detail {

inline Var apply(const char* name, Unary function, const Var& x) {
  const OpScope scope(name, x);
  Tensor y = Tensor::empty_like(x.value());
  kernels::unary({.function = function, .x = x.value(), .y = y});
  const Saved saved(saves_input(function) ? x.value() : y);
  return record(name, y, {x}, [function, saved](Tensor dy, Gradients& out) {
    Tensor dx = reuse(dy);
    kernels::unary_backward({.function = function, .saved = saved.get(), .dy = dy, .dx = dx});
    out.add(0, dx);
  });
}

}  // namespace detail

// Element by element, any shape.
inline Var exp(const Var& x) { return detail::apply("exp", Unary::exp, x); }
inline Var log(const Var& x) { return detail::apply("log", Unary::log, x); }
inline Var sqrt(const Var& x) { return detail::apply("sqrt", Unary::sqrt, x); }
inline Var sigmoid(const Var& x) { return detail::apply("sigmoid", Unary::sigmoid, x); }
inline Var tanh(const Var& x) { return detail::apply("tanh", Unary::tanh, x); }
inline Var reciprocal(const Var& x) { return detail::apply("reciprocal", Unary::reciprocal, x); }
/// 1 / √x, and 0 (with a gradient of 0) where x is not positive: what degrees are normalised with.
inline Var inverse_sqrt(const Var& x) { return detail::apply("inverse_sqrt", Unary::inverse_sqrt, x); }

}  // namespace adj
