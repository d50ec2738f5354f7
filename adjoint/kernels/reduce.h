#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// y[F] = Σ_i x[i, :] over the rows of x[N,F]. Partial sums are merged in a fixed order.
ADJ_KERNEL(void, sum_rows, const Tensor& x, Tensor& y)
/// y[N] = Σ_f x[:, f] over the columns of x[N,F].
ADJ_KERNEL(void, sum_columns, const Tensor& x, Tensor& y)
/// y (one element) = scale * Σ x, any shape.
ADJ_KERNEL(void, sum_all, const Tensor& x, double scale, Tensor& y)
/// y[N] int32 = column of the largest x[i, :], ties to the smallest column. NaN
/// never wins; a row of NaNs gives 0. x has at least one column.
ADJ_KERNEL(void, argmax_columns, const Tensor& x, Tensor& y)
/// y (one element, int64) = Σ_k [a[index[k]] == b[index[k]]], all int32; without `index`, over all elements.
ADJ_KERNEL(void, count_equal, const Tensor& a, const Tensor& b, const Tensor& index, Tensor& y)

}  // namespace adj::kernels
