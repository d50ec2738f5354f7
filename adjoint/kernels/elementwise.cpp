#include <adjoint/core/dispatch.h>
#include <adjoint/kernels/check.h>
#include <adjoint/kernels/elementwise.h>

namespace adj::kernels {

void linear_combination(double alpha, const Tensor& a, double beta, const Tensor& b, Tensor& y) {
  check_float("linear_combination", "a", a);
  if (b) check_like("linear_combination", "b", b, a);
  check_like("linear_combination", "y", y, a);
  ADJ_DISPATCH(a.device(), linear_combination, alpha, a, beta, b, y);
}

void multiply(const Tensor& a, const Tensor& b, Tensor& y) {
  check_float("multiply", "a", a);
  check_like("multiply", "b", b, a);
  check_like("multiply", "y", y, a);
  ADJ_DISPATCH(a.device(), multiply, a, b, y);
}

void multiply_scalar(const Tensor& a, const Tensor& s, Tensor& y) {
  check_float("multiply_scalar", "a", a);
  check_scalar("multiply_scalar", "s", s, a.dtype(), a.device());
  check_like("multiply_scalar", "y", y, a);
  ADJ_DISPATCH(a.device(), multiply_scalar, a, s, y);
}

void add_bias(const Tensor& x, const Tensor& bias, Tensor& y) {
  check_matrix("add_bias", "x", x);
  check_tensor("add_bias", "bias", bias, {x.size(1)}, x.dtype(), x.device());
  check_like("add_bias", "y", y, x);
  ADJ_DISPATCH(x.device(), add_bias, x, bias, y);
}

void scale_rows(const Tensor& x, const Tensor& s, Tensor& y) {
  check_matrix("scale_rows", "x", x);
  check_tensor("scale_rows", "s", s, {x.size(0)}, x.dtype(), x.device());
  check_like("scale_rows", "y", y, x);
  ADJ_DISPATCH(x.device(), scale_rows, x, s, y);
}

void permute(const Tensor& x, const Tensor& order, Tensor& y) {
  ADJ_CHECK(x && x.dims() == 1, "permute: x is {}, expected one dimension", x.str());
  check_index("permute", "order", order, x.device());
  check_tensor("permute", "y", y, order.shape(), x.dtype(), x.device());
  ADJ_DISPATCH(x.device(), permute, x, order, y);
}

}  // namespace adj::kernels
