#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// y = alpha * a + beta * b, any shape; `b` may be absent (y = alpha * a). `y` may be `a` or `b`.
struct LinearCombinationArgs {
  double alpha = 1.0;
  const Tensor& a;
  double beta = 0.0;
  const Tensor& b = kAbsent;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "a", a);
    if (b) check_like(op, "b", b, a);
    check_like(op, "y", y, a);
  }
};
ADJ_KERNEL(linear_combination, LinearCombinationArgs)  ///< Weighted sum of two tensors.

/// y = a * b, element-wise. `y` may be `a` or `b`.
struct MultiplyArgs {
  const Tensor& a;
  const Tensor& b;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "a", a);
    check_like(op, {{"b", b}, {"y", y}}, a);
  }
};
ADJ_KERNEL(multiply, MultiplyArgs)  ///< Element-wise product.

/// y = a * s; `s` has one element, accumulator dtype, read on the device. `y` may be `a`.
struct MultiplyScalarArgs {
  const Tensor& a;
  const Tensor& s;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "a", a);
    check_scalar(op, "s", s, accumulator_dtype(a.dtype()), a.device());
    check_like(op, "y", y, a);
  }
};
ADJ_KERNEL(multiply_scalar, MultiplyScalarArgs)  ///< Product with a number on the device.

/// y[N,F] = x[N,F] + bias[F]. `y` may be `x`.
struct AddBiasArgs {
  const Tensor& x;
  const Tensor& bias;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_tensor(op, "bias", bias, {x.size(1)}, x.dtype(), x.device());
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(add_bias, AddBiasArgs)  ///< Adds a vector to each row.

/// y[N,F] = x[N,F] * s[N]: scales each row. `y` may be `x`.
struct ScaleRowsArgs {
  const Tensor& x;
  const Tensor& s;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_tensor(op, "s", s, {x.size(0)}, x.dtype(), x.device());
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(scale_rows, ScaleRowsArgs)  ///< Multiplies each row by its own number.

/// y[k] = x[order[k]], one-dimensional, `order` int32.
struct PermuteArgs {
  const Tensor& x;
  const Tensor& order;
  Tensor& y;

  void check(std::string_view op) const {
    ADJ_CHECK(x && x.dims() == 1, "{}: x is {}, expected one dimension", op, x.str());
    check_index(op, "order", order, x.device());
    check_tensor(op, "y", y, order.shape(), x.dtype(), x.device());
  }
};
ADJ_KERNEL(permute, PermuteArgs)  ///< Gathers single numbers.

}  // namespace adj::kernels
