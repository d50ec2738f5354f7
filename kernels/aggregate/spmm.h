#pragma once

#include <adjoint/kernels/elementwise/unary.h>
#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

namespace detail {

/// Dtype of values for features of dtype `features`: the accumulator dtype.
inline DType values_dtype(std::string_view op, DType features) {
  ADJ_CHECK(is_floating(features), "{}: expected float32, float64 or bfloat16 features, got {}", op,
            name_of(features));
  return accumulator_dtype(features);
}

/// Checks the features `x`, which must have `rows` rows; returns their width.
inline int64_t width_of(std::string_view op, const Tensor& x, int64_t rows, Device device) {
  ADJ_CHECK(x.dims() == 2 && x.size(0) == rows, "{}: x is {}, expected [{}, F]", op, x.str(), rows);
  check_tensor(op, "x", x, x.shape(), x.dtype(), device);
  return x.size(1);
}

/// Checks the structure of `a` and the features `x`, which must have `rows` rows; returns their width.
inline int64_t check_product(std::string_view op, const CsrMatrix& a, const Tensor& x, int64_t rows) {
  check_matrix(op, {a.csr, {}, a.order}, values_dtype(op, x.dtype()));
  return width_of(op, x, rows, a.device());
}

/// Checks a tensor of the entries of `a`: [M] or [M, H] where H divides the width of the features `x`.
inline void check_weights(std::string_view op, std::string_view name, const CsrMatrix& a,
                          const Tensor& weights, const Tensor& x) {
  const int64_t width = x.size(1);
  check_entries(op, name, a, weights, accumulator_dtype(x.dtype()));
  ADJ_CHECK(width % heads_of(weights) == 0, "{}: {} is {}, but {} features do not divide into {} heads", op,
            name, weights.str(), width, heads_of(weights));
}

}  // namespace detail

/// `y` [rows,F] = act(A X + bias), X being `x` [cols,F], bias [F] optional. The aggregation of GCN, SGC and
/// weighted sums; over the transposed structure it is their backward pass. Also the product of sparse
/// features with a weight. `activation` is none or relu. A's values have the accumulator dtype. Each row is
/// summed in entry order or in a fixed tree that depends only on the structure, never on threads. Rows
/// without entries give act(bias). Values [M,H] are weights per head: values[:, h] belongs to features [h D,
/// (h + 1) D), D = F / H, as in multi-head attention. `row_factor` [rows], optional, in the dtype of the
/// values: each row's sum is multiplied by it before the bias. Not by heads. `y` may have more columns than
/// x: the result is then columns [first_column, first_column + F) of y, with the bits of a product of all
/// columns. Not by heads. `local` [n, as y], optional: rows [local_row, local_row + n) of x are not read, but
/// those of the same columns of local, which a rank has already.
struct SpmmArgs {
  const CsrMatrix& a;
  const Tensor& x;
  const Tensor& bias = kAbsent;
  Activation activation = Activation::none;
  Tensor& y;
  int64_t first_column = 0;
  const Tensor& local = kAbsent;
  int64_t local_row = 0;
  const Tensor& row_factor = kAbsent;

  bool is_slice() const { return x.size(1) != y.size(1); }  ///< whether y has more columns than x

  void check(std::string_view op) const {
    const int64_t width = detail::check_product(op, a, x, a.csr.cols);
    if (a.values) detail::check_weights(op, "values", a, a.values, x);
    if (bias) check_tensor(op, "bias", bias, {width}, x.dtype(), x.device());
    if (row_factor) {
      check_tensor(op, "row_factor", row_factor, {a.csr.rows}, accumulator_dtype(x.dtype()), x.device());
      ADJ_CHECK(heads_of(a.values) == 1, "{}: a row_factor, and {} heads", op, heads_of(a.values));
    }
    check_tensor(op, "y", y, {a.csr.rows, y && y.dims() == 2 ? y.size(1) : width}, x.dtype(), x.device());
    ADJ_CHECK(first_column >= 0 && first_column + width <= y.size(1), "{}: columns {} to {} of y, {}", op,
              first_column, first_column + width, y.str());
    ADJ_CHECK(!is_slice() || heads_of(a.values) == 1, "{}: a slice of y, {}, by {} heads", op, y.str(),
              heads_of(a.values));
    if (local) {
      check_tensor(op, "local", local, {local.dims() == 2 ? local.size(0) : 0, y.size(1)}, x.dtype(),
                   x.device());
      ADJ_CHECK(local_row >= 0 && local_row + local.size(0) <= x.size(0) && heads_of(a.values) == 1,
                "{}: local is {} from row {} on, x is {}, in {} heads", op, local.str(), local_row, x.str(),
                heads_of(a.values));
      ADJ_CHECK(!y.shares_storage_with(local), "{}: y cannot be local", op);
    }
    check_fused(op, activation);
    ADJ_CHECK(!y.shares_storage_with(x), "{}: y cannot be x", op);
  }
};
ADJ_KERNEL(spmm, SpmmArgs)  ///< Sparse matrix times features, with bias and activation.

/// Makes what products and reductions over the rows of `a` share, once: later ones do not wait for it.
struct PlanRowsArgs {
  const Csr& a;

  Device device() const { return a.device(); }  ///< where the kernel runs
  void check(std::string_view op) const { check_csr(op, a); }
};
ADJ_KERNEL(plan_rows, PlanRowsArgs)  ///< Plans of a structure ahead of its use.

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
    const int64_t width = detail::check_product(op, a, x, a.csr.cols);
    check_tensor(op, "y", y, {a.csr.rows, width}, x.dtype(), x.device());
    detail::check_weights(op, "dw", a, dw, x);
  }
};
ADJ_KERNEL(sddmm, SddmmArgs)  ///< Dot products of the rows that an entry connects.

/// Both gradients of Y = A(w) X in one pass over the transposed structure `at` (entry (j, i), order into w):
/// dX_j = Σ_i w_ij dY_i and dw_ij = ⟨dY_i, X_j⟩, each dY_i read once. `x` [N,F] is the forward input, `dy`
/// [at.cols,F], dx [N,F], dw like the values: [M] or, per head, [M,H]; w and dw have the accumulator dtype.
struct SpmmBackwardArgs {
  const CsrMatrix& at;
  const Tensor& dy;
  const Tensor& x;
  Tensor& dx;
  Tensor& dw;

  void check(std::string_view op) const {
    const int64_t width = detail::check_product(op, at, x, at.csr.rows);
    check_tensor(op, "dy", dy, {at.csr.cols, width}, x.dtype(), x.device());
    check_like(op, "dx", dx, x);
    detail::check_weights(op, "dw", at, dw, x);
    if (at.values) {
      detail::check_weights(op, "values", at, at.values, x);
      ADJ_CHECK(heads_of(at.values) == heads_of(dw), "{}: values {}, dw {}", op, at.values.str(), dw.str());
    }
    ADJ_CHECK(!dx.shares_storage_with(dy), "{}: dx cannot be dy", op);
    ADJ_CHECK(!dx.shares_storage_with(x), "{}: dx cannot be x", op);
  }
};
ADJ_KERNEL(spmm_backward, SpmmBackwardArgs)  ///< Gradients of features and values.

}  // namespace adj::kernels
