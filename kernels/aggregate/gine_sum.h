#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

namespace detail {

/// Checks the operands of a message: source features `x`, edge features `e` and the map `w` between their
/// widths.
inline void check_message(std::string_view op, const CsrMatrix& a, const Tensor& x, int64_t sources,
                          const Tensor& e, const Tensor& w) {
  check_matrix(op, {a.csr, {}, a.order}, accumulator_dtype(x.dtype()));
  check_matrix(op, "x", x);
  const Device device = a.device();
  check_tensor(op, "x", x, {sources, x.size(1)}, x.dtype(), device);
  ADJ_CHECK(e && e.dims() == 2, "{}: e is {}, expected [{}, E]", op, e.str(), a.csr.entries());
  check_entries(op, "e", a, e, x.dtype());
  if (w) {
    check_tensor(op, "w", w, {e.size(1), x.size(1)}, x.dtype(), device);
  } else {
    ADJ_CHECK(e.size(1) == x.size(1), "{}: e is {}, x is {}, expected equal widths or a map w", op, e.str(),
              x.str());
  }
}

}  // namespace detail

/// y_i = Σ relu(x_j + wᵀ e_ij) over the entries (i, j) of `a`: the aggregation of GINE (Hu et al., Strategies
/// for Pre-training Graph Neural Networks, 2020). `x` [cols,F], `e` [M,E] by edge number (entry k is edge
/// order[k], or k), `w` [E,F], or absent if E = F and e is added unchanged; `y` [rows,F]. Messages are
/// computed on the fly: nothing of size M x F is allocated. `a.values` is not read. The summation order of a
/// row depends only on the structure.
struct GineSumArgs {
  const CsrMatrix& a;
  const Tensor& x;
  const Tensor& e;
  const Tensor& w = kAbsent;
  Tensor& y;

  void check(std::string_view op) const {
    detail::check_message(op, a, x, a.csr.cols, e, w);
    check_tensor(op, "y", y, {a.csr.rows, x.size(1)}, x.dtype(), x.device());
    ADJ_CHECK(!y.shares_storage_with(x), "{}: y cannot be x", op);
  }
};
ADJ_KERNEL(gine_sum, GineSumArgs)  ///< Sums of GINE's messages at their targets.

/// Gradients of gine_sum in one pass over the transposed structure `at` (entry (j, i), order into e): with
/// g_ij = dy_i where x_j + wᵀ e_ij > 0, else 0, dx_j = Σ_i g_ij [rows,F], de_ij = w g_ij [M,E] and dw = Σ
/// e_ij g_ijᵀ [E,F]. `x` [rows,F] is the forward input and `dx` its gradient, `dy` [cols,F]. de and dw have
/// the accumulator dtype and are optional; dw requires w.
struct GineSumBackwardArgs {
  const CsrMatrix& at;
  const Tensor& dy;
  const Tensor& x;
  const Tensor& e;
  const Tensor& w = kAbsent;
  Tensor& dx;
  Tensor de = {};
  Tensor dw = {};

  void check(std::string_view op) const {
    detail::check_message(op, at, x, at.csr.rows, e, w);
    const DType accumulator = accumulator_dtype(x.dtype());
    check_tensor(op, "dy", dy, {at.csr.cols, x.size(1)}, x.dtype(), x.device());
    check_tensor(op, "dx", dx, x.shape(), x.dtype(), x.device());
    if (de) check_tensor(op, "de", de, e.shape(), accumulator, x.device());
    ADJ_CHECK(!dw || w, "{}: dw without w", op);
    if (dw) check_tensor(op, "dw", dw, w.shape(), accumulator, x.device());
    ADJ_CHECK(!dx.shares_storage_with(dy) && !dx.shares_storage_with(x), "{}: dx cannot be dy or x", op);
  }
};
ADJ_KERNEL(gine_sum_backward, GineSumBackwardArgs)  ///< Gradients of x, e and w.

}  // namespace adj::kernels
