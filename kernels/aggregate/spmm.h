#pragma once

#include <adjoint/kernels/elementwise/activation.h>
#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

namespace detail {

/// Dtype of values for features of dtype `features`: the accumulator dtype.
inline DType values_dtype(std::string_view op, DType features) {
  ADJ_CHECK(is_floating(features), "{}: expected float32, float64 or bfloat16 features, got {}", op,
            name_of(features));
  return accumulator_dtype(features);
}

/// Width of a matrix that must have `rows` rows.
inline int64_t width_of(std::string_view op, std::string_view name, const Tensor& matrix, int64_t rows) {
  ADJ_CHECK(matrix.dims() == 2 && matrix.size(0) == rows, "{}: {} is {}, expected [{}, F]", op, name,
            matrix.str(), rows);
  return matrix.size(1);
}

/// Checks the structure of `a` and a tensor of its entries: [M] or [M, H] where H divides the features'
/// width.
inline void check_weights(std::string_view op, std::string_view name, const CsrMatrix& a,
                          const Tensor& weights, DType dtype, int64_t width) {
  check_entries(op, name, a, weights, dtype);
  ADJ_CHECK(width % heads_of(weights) == 0, "{}: {} is {}, but {} features do not divide into {} heads", op,
            name, weights.str(), width, heads_of(weights));
}

}  // namespace detail

/// Y[rows,F] = act(A X + bias), X [cols,F], bias [F] optional. The aggregation of GCN, SGC and weighted sums;
/// over the transposed structure it is their backward pass. Also the product of sparse features with a
/// weight. act is none or relu. A's values have the accumulator dtype. Each row is summed in entry order or
/// in a fixed tree that depends only on the structure, never on threads. Rows without entries give act(bias).
/// Values [M,H] are weights per head: values[:, h] belongs to features [h D, (h + 1) D), D = F / H, as in
/// multi-head attention.
struct SpmmArgs {
  const CsrMatrix& a;
  const Tensor& x;
  const Tensor& bias = kAbsent;
  Activation activation = Activation::none;
  Tensor& y;

  void check(std::string_view op) const {
    const DType values = detail::values_dtype(op, x.dtype());
    check_matrix(op, {a.csr, {}, a.order}, values);
    const Device device = a.device();
    const int64_t width = detail::width_of(op, "x", x, a.csr.cols);
    if (a.values) detail::check_weights(op, "values", a, a.values, values, width);
    check_tensor(op, "x", x, {a.csr.cols, width}, x.dtype(), device);
    if (bias) check_tensor(op, "bias", bias, {width}, x.dtype(), device);
    check_tensor(op, "y", y, {a.csr.rows, width}, x.dtype(), device);
    check_fused(op, activation);
    ADJ_CHECK(!y.shares_storage_with(x), "{}: y cannot be x", op);
  }
};
ADJ_KERNEL(spmm, SpmmArgs)

/// dw[order[e] or e] = ⟨Y_i, X_j⟩ for entry e = (i, j) of A: the gradient of an aggregation's edge weights
/// (SDDMM), with dY as `y` [rows,F] and the forward input as `x` [cols,F]; dw has the accumulator dtype.
/// `a.values` is not read. Nothing of size entries x F is allocated. dw [M,H] is one dot product per head,
/// over its D = F / H features of both rows.
struct SddmmArgs {
  const CsrMatrix& a;
  const Tensor& y;
  const Tensor& x;
  Tensor& dw;

  void check(std::string_view op) const {
    const DType values = detail::values_dtype(op, x.dtype());
    check_matrix(op, {a.csr, {}, a.order}, values);
    const Device device = a.device();
    const int64_t width = detail::width_of(op, "x", x, a.csr.cols);
    check_tensor(op, "x", x, {a.csr.cols, width}, x.dtype(), device);
    check_tensor(op, "y", y, {a.csr.rows, width}, x.dtype(), device);
    detail::check_weights(op, "dw", a, dw, values, width);
  }
};
ADJ_KERNEL(sddmm, SddmmArgs)

/// Both gradients of Y = A(w) X in one pass over the transposed structure `at` (entry (j, i), order into w):
/// dX_j = Σ_i w_ij dY_i and dw_ij = ⟨dY_i, X_j⟩, each dY_i read once. `x` [N,F] is the forward input, dx
/// [N,F], dw like the values: [M] or, per head, [M,H]; w and dw have the accumulator dtype.
struct SpmmBackwardArgs {
  const CsrMatrix& at;
  const Tensor& dy;
  const Tensor& x;
  Tensor& dx;
  Tensor& dw;

  void check(std::string_view op) const {
    const DType values = detail::values_dtype(op, x.dtype());
    check_matrix(op, {at.csr, {}, at.order}, values);
    const Device device = at.device();
    const int64_t width = detail::width_of(op, "x", x, at.csr.rows);
    check_tensor(op, "x", x, {at.csr.rows, width}, x.dtype(), device);
    check_tensor(op, "dy", dy, {at.csr.cols, width}, x.dtype(), device);
    check_tensor(op, "dx", dx, {at.csr.rows, width}, x.dtype(), device);
    detail::check_weights(op, "dw", at, dw, values, width);
    if (at.values) {
      detail::check_weights(op, "values", at, at.values, values, width);
      ADJ_CHECK(heads_of(at.values) == heads_of(dw), "{}: values {}, dw {}", op, at.values.str(), dw.str());
    }
    ADJ_CHECK(!dx.shares_storage_with(dy), "{}: dx cannot be dy", op);
    ADJ_CHECK(!dx.shares_storage_with(x), "{}: dx cannot be x", op);
  }
};
ADJ_KERNEL(spmm_backward, SpmmBackwardArgs)

}  // namespace adj::kernels
