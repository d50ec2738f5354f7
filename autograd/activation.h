#pragma once

#include <adjoint/autograd/epilogue.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/elementwise/activation.h>

namespace adj {

/// act(x), any shape. `slope` is leaky_relu's below zero.
inline Var activate(Activation activation, const Var& x, float slope = kLeakySlope) {
  if (activation == Activation::none) return x;
  const char* const name = name_of(activation).data();
  const OpScope scope(name, x);
  Tensor y = Tensor::empty_like(x.value());
  kernels::activate({.activation = activation, .slope = slope, .x = x.value(), .y = y});
  // relu can tell its derivative from its output, which the next op keeps anyway.
  const Saved saved(activation == Activation::relu ? y : x.value());
  const Var result = record(name, y, {x}, [activation, slope, saved](Tensor dy, Gradients& out) {
    if (out.through_relu()) return out.add(0, dy);
    Tensor dx = reuse(dy);
    kernels::activate_backward(
        {.activation = activation, .slope = slope, .x = saved.get(), .dy = dy, .dx = dx});
    out.add(0, dx);
  });
  return detail::after(activation, result);
}

inline Var relu(const Var& x) { return activate(Activation::relu, x); }
inline Var leaky_relu(const Var& x, float slope = kLeakySlope) {
  return activate(Activation::leaky_relu, x, slope);
}
inline Var elu(const Var& x) { return activate(Activation::elu, x); }
inline Var gelu(const Var& x) { return activate(Activation::gelu, x); }

}  // namespace adj
