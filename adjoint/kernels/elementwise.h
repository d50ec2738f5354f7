#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// y = alpha * a + beta * b, any shape; `b` may be absent (y = alpha * a). `y` may be `a` or `b`.
ADJ_KERNEL(void, linear_combination, double alpha, const Tensor& a, double beta, const Tensor& b, Tensor& y)
/// y = a * b, element by element. `y` may be `a` or `b`.
ADJ_KERNEL(void, multiply, const Tensor& a, const Tensor& b, Tensor& y)
/// y = a * s where `s` has one element, read on the device. `y` may be `a`.
ADJ_KERNEL(void, multiply_scalar, const Tensor& a, const Tensor& s, Tensor& y)
/// y[N,F] = x[N,F] + bias[F]. `y` may be `x`.
ADJ_KERNEL(void, add_bias, const Tensor& x, const Tensor& bias, Tensor& y)
/// y[N,F] = x[N,F] * s[N]: each row times its own factor. `y` may be `x`.
ADJ_KERNEL(void, scale_rows, const Tensor& x, const Tensor& s, Tensor& y)
/// y[k] = x[order[k]] over one-dimensional tensors, `order` int32.
ADJ_KERNEL(void, permute, const Tensor& x, const Tensor& order, Tensor& y)

}  // namespace adj::kernels
