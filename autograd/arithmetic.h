#pragma once

#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj {

namespace detail {

// y = a + factor * b.
inline Var add_scaled(const char* name, const Var& a, const Var& b, double factor) {
  Tensor y = Tensor::empty_like(a.value());
  kernels::linear_combination({.alpha = 1.0, .a = a.value(), .beta = factor, .b = b.value(), .y = y});
  return record(name, y, {a, b}, [factor](Tensor dy, Gradients& out) {
    if (out.wanted(1)) {
      Tensor db = dy;
      if (factor != 1.0) {
        db = Tensor::empty_like(dy);
        kernels::linear_combination({.alpha = factor, .a = dy, .y = db});
      }
      out.add(1, db);
    }
    out.add(0, std::move(dy));
  });
}

}  // namespace detail

// Element by element, equal shapes; anything else throws, naming both.
inline Var add(const Var& a, const Var& b) { return detail::add_scaled("add", a, b, 1.0); }
inline Var subtract(const Var& a, const Var& b) { return detail::add_scaled("subtract", a, b, -1.0); }

inline Var multiply(const Var& a, const Var& b) {
  Tensor y = Tensor::empty_like(a.value());
  kernels::multiply({.a = a.value(), .b = b.value(), .y = y});
  return record("multiply", y, {a, b},
                [a = Saved(a.value()), b = Saved(b.value())](Tensor dy, Gradients& out) {
                  if (out.wanted(1)) {
                    Tensor db = Tensor::empty_like(dy);
                    kernels::multiply({.a = dy, .b = a.get(), .y = db});
                    out.add(1, db);
                  }
                  if (!out.wanted(0)) return;
                  Tensor da = reuse(dy);
                  kernels::multiply({.a = dy, .b = b.get(), .y = da});
                  out.add(0, da);
                });
}

inline Var scale(const Var& a, double factor) {
  Tensor y = Tensor::empty_like(a.value());
  kernels::linear_combination({.alpha = factor, .a = a.value(), .y = y});
  return record("scale", y, {a}, [factor](Tensor dy, Gradients& out) {
    Tensor da = reuse(dy);
    kernels::linear_combination({.alpha = factor, .a = dy, .y = da});
    out.add(0, da);
  });
}

/// x[N,F] + bias[F].
inline Var add_bias(const Var& x, const Var& bias) {
  Tensor y = Tensor::empty_like(x.value());
  kernels::add_bias({.x = x.value(), .bias = bias.value(), .y = y});
  return record("add_bias", y, {x, bias}, [](Tensor dy, Gradients& out) {
    if (out.wanted(1)) {
      Tensor db = Tensor::empty({dy.size(1)}, dy.dtype(), dy.device());
      kernels::sum_rows({.x = dy, .y = db});
      out.add(1, db);
    }
    out.add(0, std::move(dy));
  });
}

inline Var operator+(const Var& a, const Var& b) { return add(a, b); }
inline Var operator-(const Var& a, const Var& b) { return subtract(a, b); }
inline Var operator*(const Var& a, const Var& b) { return multiply(a, b); }
inline Var operator*(const Var& a, double factor) { return scale(a, factor); }
inline Var operator*(double factor, const Var& a) { return scale(a, factor); }

}  // namespace adj
