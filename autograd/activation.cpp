#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/detail/epilogue.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/elementwise/activation.h>

namespace adj {

Var activate(Activation activation, const Var& x, float slope) {
  if (activation == Activation::none) return x;
  const char* const name = name_of(activation).data();
  const OpScope scope(name, x);
  Tensor y = Tensor::empty_like(x.value());
  kernels::activate({.activation = activation, .slope = slope, .x = x.value(), .y = y});
  // relu's derivative follows from its output, which the next op saves anyway.
  const Saved saved(activation == Activation::relu ? y : x.value());
  const Var result = record(name, y, {x}, [activation, slope, saved](Tensor dy, Gradients& out) {
    if (detail::FusedGradients::through_relu(out)) return out.add(dy);
    Tensor dx = reuse(dy);
    kernels::activate_backward(
        {.activation = activation, .slope = slope, .x = saved.get(), .dy = dy, .dx = dx});
    out.add(dx);
  });
  return detail::after(activation, result);
}

}  // namespace adj
