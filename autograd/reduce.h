#pragma once

#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj {

namespace detail {

inline Tensor ones(Shape shape, const Tensor& like) {
  return Tensor::full(shape, 1.0, like.dtype(), like.device());
}

inline Var scaled_sum(const char* name, const Var& x, double factor) {
  Tensor y = Tensor::empty({}, wide_dtype(x.dtype()), x.device());
  kernels::sum_all({.x = x.value(), .scale = factor, .y = y});
  return record(name, y, {x}, [factor, shape = x.shape(), dtype = x.dtype()](Tensor dy, Gradients& out) {
    Tensor dx = Tensor::full(shape, factor, dtype, dy.device());
    kernels::multiply_scalar({.a = dx, .s = dy, .y = dx});
    out.add(0, dx);
  });
}

}  // namespace detail

/// Σ x and its mean, any shape, as a scalar: float32 of bfloat16.
inline Var sum(const Var& x) { return detail::scaled_sum("sum", x, 1.0); }

inline Var mean(const Var& x) {
  ADJ_CHECK(x.value().numel() > 0, "mean: no elements in {}", x.shape().str());
  return detail::scaled_sum("mean", x, 1.0 / static_cast<double>(x.value().numel()));
}

/// [F]: over the rows of x[N,F].
inline Var sum_rows(const Var& x) {
  Tensor y = Tensor::empty({x.size(1)}, x.dtype(), x.device());
  kernels::sum_rows({.x = x.value(), .y = y});
  return record("sum_rows", y, {x}, [shape = x.shape()](Tensor dy, Gradients& out) {
    Tensor dx = Tensor::zeros(shape, dy.dtype(), dy.device());
    kernels::add_bias({.x = dx, .bias = dy, .y = dx});
    out.add(0, dx);
  });
}

/// [N]: over its columns.
inline Var sum_columns(const Var& x) {
  Tensor y = Tensor::empty({x.size(0)}, x.dtype(), x.device());
  kernels::sum_columns({.x = x.value(), .y = y});
  return record("sum_columns", y, {x}, [shape = x.shape()](Tensor dy, Gradients& out) {
    Tensor dx = detail::ones(shape, dy);
    kernels::scale_rows({.x = dx, .s = dy, .y = dx});
    out.add(0, dx);
  });
}

}  // namespace adj
