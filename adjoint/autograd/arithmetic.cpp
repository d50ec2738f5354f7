#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/elementwise.h>
#include <adjoint/kernels/reduce.h>

namespace adj {

namespace {

// y = a + factor * b.
Var add_scaled(const char* name, const Var& a, const Var& b, double factor) {
  Tensor y = Tensor::empty_like(a.value());
  kernels::linear_combination(1.0, a.value(), factor, b.value(), y);
  return record(name, y, {a, b}, [factor](Tensor dy, Gradients& out) {
    if (out.wanted(1)) {
      Tensor db = dy;
      if (factor != 1.0) {
        db = Tensor::empty_like(dy);
        kernels::linear_combination(factor, dy, 0.0, {}, db);
      }
      out.add(1, db);
    }
    out.add(0, std::move(dy));
  });
}

}  // namespace

Var add(const Var& a, const Var& b) { return add_scaled("add", a, b, 1.0); }
Var subtract(const Var& a, const Var& b) { return add_scaled("subtract", a, b, -1.0); }

Var multiply(const Var& a, const Var& b) {
  Tensor y = Tensor::empty_like(a.value());
  kernels::multiply(a.value(), b.value(), y);
  return record("multiply", y, {a, b},
                [a = Saved(a.value()), b = Saved(b.value())](Tensor dy, Gradients& out) {
                  if (out.wanted(1)) {
                    Tensor db = Tensor::empty_like(dy);
                    kernels::multiply(dy, a.get(), db);
                    out.add(1, db);
                  }
                  if (!out.wanted(0)) return;
                  Tensor da = reuse(dy);
                  kernels::multiply(dy, b.get(), da);
                  out.add(0, da);
                });
}

Var scale(const Var& a, double factor) {
  Tensor y = Tensor::empty_like(a.value());
  kernels::linear_combination(factor, a.value(), 0.0, {}, y);
  return record("scale", y, {a}, [factor](Tensor dy, Gradients& out) {
    Tensor da = reuse(dy);
    kernels::linear_combination(factor, dy, 0.0, {}, da);
    out.add(0, da);
  });
}

Var add_bias(const Var& x, const Var& bias) {
  Tensor y = Tensor::empty_like(x.value());
  kernels::add_bias(x.value(), bias.value(), y);
  return record("add_bias", y, {x, bias}, [](Tensor dy, Gradients& out) {
    if (out.wanted(1)) {
      Tensor db = Tensor::empty({dy.size(1)}, dy.dtype(), dy.device());
      kernels::sum_rows(dy, db);
      out.add(1, db);
    }
    out.add(0, std::move(dy));
  });
}

}  // namespace adj
