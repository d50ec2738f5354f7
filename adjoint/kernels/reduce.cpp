#include <adjoint/core/dispatch.h>
#include <adjoint/kernels/check.h>
#include <adjoint/kernels/reduce.h>

namespace adj::kernels {

void sum_rows(const Tensor& x, Tensor& y) {
  check_matrix("sum_rows", "x", x);
  check_tensor("sum_rows", "y", y, {x.size(1)}, x.dtype(), x.device());
  ADJ_DISPATCH(x.device(), sum_rows, x, y);
}

void sum_columns(const Tensor& x, Tensor& y) {
  check_matrix("sum_columns", "x", x);
  check_tensor("sum_columns", "y", y, {x.size(0)}, x.dtype(), x.device());
  ADJ_DISPATCH(x.device(), sum_columns, x, y);
}

void sum_all(const Tensor& x, double scale, Tensor& y) {
  check_float("sum_all", "x", x);
  check_scalar("sum_all", "y", y, x.dtype(), x.device());
  ADJ_DISPATCH(x.device(), sum_all, x, scale, y);
}

void argmax_columns(const Tensor& x, Tensor& y) {
  check_matrix("argmax_columns", "x", x);
  ADJ_CHECK(x.size(1) >= 1, "argmax_columns: x is {}, expected at least one column", x.str());
  check_tensor("argmax_columns", "y", y, {x.size(0)}, DType::i32, x.device());
  ADJ_DISPATCH(x.device(), argmax_columns, x, y);
}

void count_equal(const Tensor& a, const Tensor& b, const Tensor& index, Tensor& y) {
  check_index("count_equal", "a", a, a.device());
  check_like("count_equal", "b", b, a);
  if (index) check_index("count_equal", "index", index, a.device());
  check_scalar("count_equal", "y", y, DType::i64, a.device());
  ADJ_DISPATCH(a.device(), count_equal, a, b, index, y);
}

}  // namespace adj::kernels
