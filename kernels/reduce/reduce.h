#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// y[F] = Σ_i x[i, :] over the rows of x[N,F]. Partial sums are merged in a fixed order.
struct SumRowsArgs {
  const Tensor& x;
  Tensor& y;

  Device device() const { return x.device(); }
  void check() const {
    check_matrix("sum_rows", "x", x);
    check_tensor("sum_rows", "y", y, {x.size(1)}, x.dtype(), x.device());
  }
};
ADJ_KERNEL(sum_rows, SumRowsArgs)

/// y[N] = Σ_f x[:, f] over the columns of x[N,F].
struct SumColumnsArgs {
  const Tensor& x;
  Tensor& y;

  Device device() const { return x.device(); }
  void check() const {
    check_matrix("sum_columns", "x", x);
    check_tensor("sum_columns", "y", y, {x.size(0)}, x.dtype(), x.device());
  }
};
ADJ_KERNEL(sum_columns, SumColumnsArgs)

/// y (one element, wide) = scale * Σ x, any shape.
struct SumAllArgs {
  const Tensor& x;
  double scale = 1.0;
  Tensor& y;

  Device device() const { return x.device(); }
  void check() const {
    check_float("sum_all", "x", x);
    check_scalar("sum_all", "y", y, accumulator_dtype(x.dtype()), x.device());
  }
};
ADJ_KERNEL(sum_all, SumAllArgs)

/// y[N] int32 = argmax of x[i, :], ties to the smallest column. NaN never wins; a row of NaNs gives 0. x has
/// at least one column.
struct ArgmaxColumnsArgs {
  const Tensor& x;
  Tensor& y;

  Device device() const { return x.device(); }
  void check() const {
    check_matrix("argmax_columns", "x", x);
    ADJ_CHECK(x.size(1) >= 1, "argmax_columns: x is {}, expected at least one column", x.str());
    check_tensor("argmax_columns", "y", y, {x.size(0)}, DType::i32, x.device());
  }
};
ADJ_KERNEL(argmax_columns, ArgmaxColumnsArgs)

/// y (one element, int64) = Σ_k [a[index[k]] == b[index[k]]], all int32; without `index`, over all elements.
struct CountEqualArgs {
  const Tensor& a;
  const Tensor& b;
  const Tensor& index = kAbsent;
  Tensor& y;

  Device device() const { return a.device(); }
  void check() const {
    check_index("count_equal", "a", a, a.device());
    check_like("count_equal", "b", b, a);
    if (index) check_index("count_equal", "index", index, a.device());
    check_scalar("count_equal", "y", y, DType::i64, a.device());
  }
};
ADJ_KERNEL(count_equal, CountEqualArgs)

}  // namespace adj::kernels
