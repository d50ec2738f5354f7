#include <adjoint/core/dispatch.h>
#include <adjoint/kernels/check.h>
#include <adjoint/kernels/csr_check.h>
#include <adjoint/kernels/spmm.h>

namespace adj::kernels {

namespace {

/// Dtype of values where features are `features`.
DType values_dtype(std::string_view op, DType features) {
  ADJ_CHECK(is_floating(features), "{}: expected float32, float64 or bfloat16 features, got {}", op,
            name_of(features));
  return features == DType::f64 ? DType::f64 : DType::f32;
}

/// Width of a matrix that has `rows` rows.
int64_t width_of(std::string_view op, std::string_view name, const Tensor& matrix, int64_t rows) {
  ADJ_CHECK(matrix.dims() == 2 && matrix.size(0) == rows, "{}: {} is {}, expected [{}, F]", op, name,
            matrix.str(), rows);
  return matrix.size(1);
}

void check_edge_gradient(std::string_view op, const CsrMatrix& a, const Tensor& dw, DType dtype) {
  check_tensor(op, "dw", dw, {dw.numel()}, dtype, a.csr.device());
  ADJ_CHECK(a.order ? dw.numel() >= a.csr.entries() : dw.numel() == a.csr.entries(),
            "{}: dw has {} elements for {} entries", op, dw.numel(), a.csr.entries());
}

}  // namespace

void spmm(const CsrMatrix& a, const Tensor& x, const Tensor& bias, Activation activation, Tensor& y) {
  const DType values = values_dtype("spmm", x.dtype());
  check_matrix("spmm", a, values);
  const Device device = a.csr.device();
  const int64_t width = width_of("spmm", "x", x, a.csr.cols);
  check_tensor("spmm", "x", x, {a.csr.cols, width}, x.dtype(), device);
  if (bias) check_tensor("spmm", "bias", bias, {width}, values, device);
  check_tensor("spmm", "y", y, {a.csr.rows, width}, x.dtype(), device);
  ADJ_CHECK(x.dtype() != DType::bf16 || activation == Activation::none || activation == Activation::relu,
            "spmm: bfloat16 takes no activation or relu, got {}", name_of(activation));
  ADJ_CHECK(!y.shares_storage_with(x), "spmm: y cannot be x");
  ADJ_DISPATCH(device, spmm, a, x, bias, activation, y);
}

void sddmm(const CsrMatrix& a, const Tensor& y, const Tensor& x, Tensor& dw) {
  const DType values = values_dtype("sddmm", x.dtype());
  check_matrix("sddmm", {a.csr, {}, a.order}, values);
  const Device device = a.csr.device();
  const int64_t width = width_of("sddmm", "x", x, a.csr.cols);
  check_tensor("sddmm", "x", x, {a.csr.cols, width}, x.dtype(), device);
  check_tensor("sddmm", "y", y, {a.csr.rows, width}, x.dtype(), device);
  check_edge_gradient("sddmm", a, dw, values);
  ADJ_DISPATCH(device, sddmm, a, y, x, dw);
}

void spmm_backward(const CsrMatrix& at, const Tensor& dy, const Tensor& x, Tensor& dx, Tensor& dw) {
  const DType values = values_dtype("spmm_backward", x.dtype());
  check_matrix("spmm_backward", at, values);
  const Device device = at.csr.device();
  const int64_t width = width_of("spmm_backward", "x", x, at.csr.rows);
  check_tensor("spmm_backward", "x", x, {at.csr.rows, width}, x.dtype(), device);
  check_tensor("spmm_backward", "dy", dy, {at.csr.cols, width}, x.dtype(), device);
  check_tensor("spmm_backward", "dx", dx, {at.csr.rows, width}, x.dtype(), device);
  check_edge_gradient("spmm_backward", at, dw, values);
  ADJ_CHECK(!dx.shares_storage_with(dy), "spmm_backward: dx cannot be dy");
  ADJ_CHECK(!dx.shares_storage_with(x), "spmm_backward: dx cannot be x");
  ADJ_DISPATCH(device, spmm_backward, at, dy, x, dx, dw);
}

}  // namespace adj::kernels
