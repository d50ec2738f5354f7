#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/kernels/elementwise/unary.h>

namespace adj {

namespace {

Var apply(const char* name, Unary function, const Var& x) {
  const OpScope scope(name, x);
  Tensor y = Tensor::empty_like(x.value());
  kernels::unary({.function = function, .x = x.value(), .y = y});
  const Saved saved(saves_input(function) ? x.value() : y);
  return record(name, y, {x}, [function, saved](Tensor dy, Gradients& out) {
    Tensor dx = reuse(dy);
    kernels::unary_backward({.function = function, .saved = saved.get(), .dy = dy, .dx = dx});
    out.add(dx);
  });
}

}  // namespace

Var exp(const Var& x) { return apply("exp", Unary::exp, x); }
Var log(const Var& x) { return apply("log", Unary::log, x); }
Var sqrt(const Var& x) { return apply("sqrt", Unary::sqrt, x); }
Var sigmoid(const Var& x) { return apply("sigmoid", Unary::sigmoid, x); }
Var tanh(const Var& x) { return apply("tanh", Unary::tanh, x); }
Var reciprocal(const Var& x) { return apply("reciprocal", Unary::reciprocal, x); }
Var inverse_sqrt(const Var& x) { return apply("inverse_sqrt", Unary::inverse_sqrt, x); }

}  // namespace adj
