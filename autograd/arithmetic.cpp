#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/detail/broadcast.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/elementwise/unary.h>

namespace adj {

namespace {

// True if `row` is broadcast over the rows of the matrix `x`, which has its own kernel.
bool is_row_of(const Var& x, const Var& row) {
  const Shape matrix = x.shape(), shape = row.shape();
  return matrix.dims() == 2 && matrix[0] != 1 && (shape == Shape{matrix[1]} || shape == Shape{1, matrix[1]});
}

// True if `column` has one factor per row of the matrix `x`.
bool is_column_of(const Tensor& x, const Tensor& column) {
  return x.dims() == 2 && x.size(1) != 1 && column.shape() == Shape{x.size(0), 1};
}

// a op b with the general broadcast kernel.
Tensor combined(const char* name, Binary op, const Tensor& a, const Tensor& b) {
  ADJ_CHECK(a.dtype() == b.dtype() && a.device() == b.device(), "{}: operands {} and {}", name, a.str(),
            b.str());
  Tensor y = Tensor::empty(kernels::broadcast_shape(name, a.shape(), b.shape()), a.dtype(), a.device());
  kernels::binary({.op = op, .a = a, .b = b, .y = y});
  return y;
}

// a * b, with a fast path for a matrix with a column.
Tensor product(const Tensor& a, const Tensor& b) {
  const bool same_kind = a.dtype() == b.dtype() && a.device() == b.device();
  if (same_kind && is_column_of(b, a)) return product(b, a);
  if (same_kind && is_column_of(a, b)) {
    Tensor y = Tensor::empty_like(a);
    kernels::scale_rows({.x = a, .s = b.reshape({b.size(0)}), .y = y});
    return y;
  }
  return combined("multiply", Binary::multiply, a, b);
}

Tensor scaled(const Tensor& x, double factor) {
  Tensor y = Tensor::empty_like(x);
  kernels::linear_combination({.alpha = factor, .a = x, .y = y});
  return y;
}

// y = a + factor * b, factor 1 or -1.
Var add_scaled(const char* name, const Var& a, const Var& b, double factor) {
  const OpScope scope(name, a, b);
  Tensor y;
  const bool same_kind = a.dtype() == b.dtype() && a.device() == b.device();
  if (same_kind && factor == 1.0 && is_row_of(a, b)) {
    y = Tensor::empty_like(a.value());
    kernels::add_bias({.x = a.value(), .bias = b.value().reshape({a.size(1)}), .y = y});
  } else {
    y = combined(name, factor == 1.0 ? Binary::add : Binary::subtract, a.value(), b.value());
  }
  enum : size_t { kA, kB };
  return record(name, y, {a, b},
                [factor, a_shape = a.shape(), b_shape = b.shape()](Tensor dy, Gradients& out) {
                  if (out.wanted(kB)) {
                    const Tensor db = detail::reduce_to(b_shape, dy);
                    out.add(kB, factor == 1.0 ? db : scaled(db, factor));
                  }
                  if (out.wanted(kA))
                    out.add(kA, a_shape == dy.shape() ? std::move(dy) : detail::reduce_to(a_shape, dy));
                });
}

Var affine(const char* name, const Var& x, double scale, double shift) {
  const OpScope scope(name, x);
  Tensor y = Tensor::empty_like(x.value());
  kernels::affine({.scale = scale, .shift = shift, .x = x.value(), .y = y});
  return record(name, y, {x}, [scale](Tensor dy, Gradients& out) {
    out.add(scale == 1.0 ? std::move(dy) : scaled(dy, scale));
  });
}

}  // namespace

Var add(const Var& a, const Var& b) { return add_scaled("add", a, b, 1.0); }
Var subtract(const Var& a, const Var& b) { return add_scaled("subtract", a, b, -1.0); }

Var multiply(const Var& a, const Var& b) {
  const OpScope scope("multiply", a, b);
  enum : size_t { kA, kB };
  return record("multiply", product(a.value(), b.value()), {a, b},
                [a = Saved(a.value()), b = Saved(b.value())](Tensor dy, Gradients& out) {
                  if (out.wanted(kB)) out.add(kB, detail::reduce_to(b.get().shape(), product(dy, a.get())));
                  if (!out.wanted(kA)) return;
                  if (a.get().shape() != b.get().shape())
                    return out.add(kA, detail::reduce_to(a.get().shape(), product(dy, b.get())));
                  Tensor da = reuse(dy);
                  kernels::binary({.op = Binary::multiply, .a = dy, .b = b.get(), .y = da});
                  out.add(kA, da);
                });
}

Var divide(const Var& a, const Var& b) {
  const OpScope scope("divide", a, b);
  const Tensor y = combined("divide", Binary::divide, a.value(), b.value());
  enum : size_t { kA, kB };
  return record("divide", y, {a, b},
                [a_shape = a.shape(), b = Saved(b.value()), y = Saved(y)](Tensor dy, Gradients& out) {
                  // da = dy / b; db = -dy y / b.
                  Tensor da = reuse(dy);
                  kernels::binary({.op = Binary::divide, .a = dy, .b = b.get(), .y = da});
                  if (out.wanted(kB)) {
                    const Tensor db = detail::reduce_to(b.get().shape(), product(da, y.get()));
                    out.add(kB, scaled(db, -1.0));
                  }
                  if (out.wanted(kA)) out.add(kA, detail::reduce_to(a_shape, da));
                });
}

Var scale(const Var& a, double factor) {
  const OpScope scope("scale", a);
  return record("scale", scaled(a.value(), factor), {a}, [factor](Tensor dy, Gradients& out) {
    Tensor da = reuse(dy);
    kernels::linear_combination({.alpha = factor, .a = dy, .y = da});
    out.add(da);
  });
}

Var linear_combination(double alpha, const Var& a, double beta, const Var& b) {
  const OpScope scope("linear_combination", a, b);
  check_same_device("linear_combination", {a, b});
  ADJ_CHECK(a.shape() == b.shape(), "linear_combination: operands {} and {}, expected one shape",
            a.shape().str(), b.shape().str());
  Tensor y = Tensor::empty_like(a.value());
  kernels::linear_combination({.alpha = alpha, .a = a.value(), .beta = beta, .b = b.value(), .y = y});
  enum : size_t { kA, kB };
  return record("linear_combination", y, {a, b}, [alpha, beta](Tensor dy, Gradients& out) {
    if (out.wanted(kB)) out.add(kB, scaled(dy, beta));
    if (!out.wanted(kA)) return;
    Tensor da = reuse(dy);
    kernels::linear_combination({.alpha = alpha, .a = dy, .y = da});
    out.add(kA, da);
  });
}

Var cast(const Var& x, DType dtype) {
  const OpScope scope("cast", x);
  ADJ_CHECK(is_floating(dtype), "cast: to {}, expected float32, float64 or bfloat16", name_of(dtype));
  if (x.dtype() == dtype) return x;
  return record("cast", x.value().to(dtype), {x},
                [input_dtype = x.dtype()](Tensor dy, Gradients& out) { out.add(dy.to(input_dtype)); });
}

Var operator+(const Var& a, double b) { return affine("add", a, 1.0, b); }
Var operator+(double a, const Var& b) { return affine("add", b, 1.0, a); }
Var operator-(const Var& a, double b) { return affine("subtract", a, 1.0, -b); }
Var operator-(double a, const Var& b) { return affine("subtract", b, -1.0, a); }
Var operator/(double a, const Var& b) { return scale(reciprocal(b), a); }

}  // namespace adj
