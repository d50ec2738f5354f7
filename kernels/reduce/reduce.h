#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// y[F] = Σ_i x[i, :] over the rows of x[N,F]. Partial sums are merged in a fixed order.
struct SumRowsArgs {
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_tensor(op, "y", y, {x.size(1)}, x.dtype(), x.device());
  }
};
ADJ_KERNEL(sum_rows, SumRowsArgs)  ///< Sum of the rows.

/// y[N] = Σ_f x[:, f] over the columns of x[N,F].
struct SumColumnsArgs {
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_tensor(op, "y", y, {x.size(0)}, x.dtype(), x.device());
  }
};
ADJ_KERNEL(sum_columns, SumColumnsArgs)  ///< Sum of the columns.

/// y (one element, accumulator dtype) = scale * Σ x, any shape.
struct SumAllArgs {
  const Tensor& x;
  double scale = 1.0;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "x", x);
    check_scalar(op, "y", y, accumulator_dtype(x.dtype()), x.device());
  }
};
ADJ_KERNEL(sum_all, SumAllArgs)  ///< Scaled sum of all elements.

/// y[N] int32 = argmax of x[i, :], ties to the smallest column. NaN never wins; a row of NaNs gives 0. x has
/// at least one column.
struct ArgmaxColumnsArgs {
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    ADJ_CHECK(x.size(1) >= 1, "{}: x is {}, expected at least one column", op, x.str());
    check_tensor(op, "y", y, {x.size(0)}, DType::i32, x.device());
  }
};
ADJ_KERNEL(argmax_columns, ArgmaxColumnsArgs)  ///< Column of the largest element of each row.

/// y (one element, int64) = Σ_k [a[index[k]] == b[index[k]]], all int32; without `index`, over all elements.
struct CountEqualArgs {
  const Tensor& a;
  const Tensor& b;
  const Tensor& index = kAbsent;
  Tensor& y;

  void check(std::string_view op) const {
    check_index(op, "a", a, a.device());
    check_like(op, "b", b, a);
    if (index) check_index(op, "index", index, a.device());
    check_scalar(op, "y", y, DType::i64, a.device());
  }
};
ADJ_KERNEL(count_equal, CountEqualArgs)  ///< Number of equal elements.

}  // namespace adj::kernels
