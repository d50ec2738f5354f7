#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/detail/epilogue.h>
#include <adjoint/autograd/softmax.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/kernels/elementwise/unary.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj {

namespace {

Var apply(const char* name, Unary function, const Var& x, double first = 0.0, double second = 0.0) {
  const OpScope scope(name, x);
  Tensor y = Tensor::empty_like(x.value());
  kernels::unary({.function = function, .first = first, .second = second, .x = x.value(), .y = y});
  const Saved saved(saves_input(function) ? x.value() : y);
  return record(name, y, {x}, [function, first, second, saved](Tensor dy, Gradients& out) {
    Tensor dx = reuse(dy);
    kernels::unary_backward(
        {.function = function, .first = first, .second = second, .saved = saved.get(), .dy = dy, .dx = dx});
    out.add(dx);
  });
}

Var softmax_of(const char* name, const Var& x, bool log) {
  const OpScope scope(name, x);
  const Shape shape = x.shape();
  ADJ_CHECK(shape.dims() >= 1, "{}: expected at least one dimension, got {}", name, x.value().str());
  const int64_t width = shape[-1], rows = width == 0 ? 0 : shape.numel() / width;
  Tensor y = Tensor::empty({rows, width}, x.dtype(), x.device());
  kernels::softmax({.log = log, .x = x.value().reshape({rows, width}), .y = y});
  return record(name, y.reshape(shape), {x}, [log, shape, y = Saved(y)](Tensor dy, Gradients& out) {
    dy = dy.reshape(y.get().shape());
    Tensor dx = reuse(dy);
    kernels::softmax_backward({.log = log, .y = y.get(), .dy = dy, .dx = dx});
    out.add(dx.reshape(shape));
  });
}

// Saves a bit per element: not every next op saves the output.
Var relu_of(const Var& x) {
  const char* const name = name_of(Activation::relu).data();
  const OpScope scope(name, x);
  Tensor y = Tensor::empty_like(x.value());
  if (!recording({x})) {
    kernels::activate({.activation = Activation::relu, .x = x.value(), .y = y});
    return y;
  }
  Tensor positive = Tensor::empty({kernels::sign_bytes(y.numel())}, DType::u8, y.device());
  kernels::relu({.x = x.value(), .y = y, .positive = positive});
  return detail::from_relu(record(name, y, {x}, [positive](Tensor dy, Gradients& out) {
    if (detail::FusedGradients::through_relu(out)) return out.add(dy);
    Tensor dx = reuse(dy);
    kernels::relu_backward({.positive = positive, .dy = dy, .dx = dx});
    out.add(dx);
  }));
}

}  // namespace

Var activate(Activation activation, const Var& x, float slope) {
  if (activation == Activation::none) return x;
  if (activation == Activation::relu) return relu_of(x);
  const char* const name = name_of(activation).data();
  const OpScope scope(name, x);
  Tensor y = Tensor::empty_like(x.value());
  kernels::activate({.activation = activation, .slope = slope, .x = x.value(), .y = y});
  return record(name, y, {x}, [activation, slope, x = Saved(x.value())](Tensor dy, Gradients& out) {
    Tensor dx = reuse(dy);
    kernels::activate_backward({.activation = activation, .slope = slope, .x = x.get(), .dy = dy, .dx = dx});
    out.add(dx);
  });
}

Var exp(const Var& x) { return apply("exp", Unary::exp, x); }
Var log(const Var& x) { return apply("log", Unary::log, x); }
Var sqrt(const Var& x) { return apply("sqrt", Unary::sqrt, x); }
Var sigmoid(const Var& x) { return apply("sigmoid", Unary::sigmoid, x); }
Var tanh(const Var& x) { return apply("tanh", Unary::tanh, x); }
Var reciprocal(const Var& x) { return apply("reciprocal", Unary::reciprocal, x); }
Var inverse_sqrt(const Var& x) { return apply("inverse_sqrt", Unary::inverse_sqrt, x); }
Var abs(const Var& x) { return apply("abs", Unary::abs, x); }
Var sin(const Var& x) { return apply("sin", Unary::sin, x); }
Var cos(const Var& x) { return apply("cos", Unary::cos, x); }
Var pow(const Var& x, double exponent) { return apply("pow", Unary::power, x, exponent); }
Var clamp(const Var& x, double low, double high) {
  ADJ_CHECK(low <= high, "clamp: from {} to {}, expected an ascending range", low, high);
  return apply("clamp", Unary::clamp, x, low, high);
}

Var softmax(const Var& x) { return softmax_of("softmax", x, false); }
Var log_softmax(const Var& x) { return softmax_of("log_softmax", x, true); }

}  // namespace adj
