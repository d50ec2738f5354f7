#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/tape.h>

namespace adj {

Var activate(Activation activation, const Var& x, float slope) {
  if (activation == Activation::none) return x;
  Tensor y = Tensor::empty_like(x.value());
  kernels::activate(activation, slope, x.value(), y);
  // relu can tell its derivative from its output, which the next op keeps anyway.
  const Saved saved(activation == Activation::relu ? y : x.value());
  return record("activate", y, {x}, [activation, slope, saved](Tensor dy, Gradients& out) {
    Tensor dx = reuse(dy);
    kernels::activate_backward(activation, slope, saved.get(), dy, dx);
    out.add(0, dx);
  });
}

Var relu(const Var& x) { return activate(Activation::relu, x); }
Var leaky_relu(const Var& x, float slope) { return activate(Activation::leaky_relu, x, slope); }
Var elu(const Var& x) { return activate(Activation::elu, x); }
Var gelu(const Var& x) { return activate(Activation::gelu, x); }

}  // namespace adj
