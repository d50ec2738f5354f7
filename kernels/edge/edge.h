#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

namespace detail {

/// Node terms: [N] for edge terms [M], [N, H] for [M, H].
inline void check_terms(std::string_view op, std::string_view name, const Tensor& terms, int64_t nodes,
                        const Tensor& e, Device device) {
  const Shape shape = e.dims() == 2 ? Shape{nodes, e.size(1)} : Shape{nodes};
  check_tensor(op, name, terms, shape, terms.dtype(), device);
  ADJ_CHECK(is_floating(terms.dtype()), "{}: {} is {}, expected floating", op, name, terms.str());
}

}  // namespace detail

// Edge quantities are [M] or, for H heads, [M, H] by edge number: entry k of `a` is edge order[k], or k
// without an order. `a.values` is not read.

/// y = exp(e_ij - m_i) / Σ_j exp(e_ij - m_i) with m_i the largest logit into target i: the softmax over each
/// row of `a`, per head (GAT eq. 3, Veličković et al. 2018). `e` in float32, float64 or bfloat16, `y` float32
/// for bfloat16 logits. A logit of -inf gives 0; NaN propagates to its whole row, and a row of only -inf is
/// NaN. In-place (`y` is `e`) is allowed for equal dtypes. The order of each row's sum depends only on the
/// structure and H.
struct EdgeSoftmaxArgs {
  const CsrMatrix& a;
  const Tensor& e;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "e", e);
    check_matrix(op, {a.csr, {}, a.order}, e.dtype());
    check_entries(op, "e", a, e, e.dtype());
    check_tensor(op, "y", y, e.shape(), accumulator_dtype(e.dtype()), a.device());
  }
};
ADJ_KERNEL(edge_softmax, EdgeSoftmaxArgs)  ///< Softmax over the edges into each target.

/// de = y (dy - Σ_j y dy), the sum over each row of `a`, per head; `y` is the forward output. `de` has the
/// dtype of e, `dy` the dtype of y. `de` may be `dy` for equal dtypes.
struct EdgeSoftmaxBackwardArgs {
  const CsrMatrix& a;
  const Tensor& y;
  const Tensor& dy;
  Tensor& de;

  void check(std::string_view op) const {
    check_float(op, "de", de);
    const DType dtype = accumulator_dtype(de.dtype());
    check_matrix(op, {a.csr, {}, a.order}, dtype);
    check_entries(op, "y", a, y, dtype);
    check_like(op, "dy", dy, y);
    check_tensor(op, "de", de, y.shape(), de.dtype(), a.device());
  }
};
ADJ_KERNEL(edge_softmax_backward, EdgeSoftmaxBackwardArgs)  ///< Gradient of edge_softmax.

/// e_ij = l_i + r_j: the target's plus the source's term for every entry (i, j) of `a`, per head. `l` [rows]
/// or [rows, H], `r` [cols] or [cols, H], in float32, float64 or bfloat16, `e` [M] or [M, H] by edge number
/// (entry k is edge order[k], or k), float32 for bfloat16 terms. `a.values` is not read.
struct EdgeAddArgs {
  const CsrMatrix& a;
  const Tensor& l;
  const Tensor& r;
  Tensor& e;

  void check(std::string_view op) const {
    const DType dtype = accumulator_dtype(l.dtype());
    check_matrix(op, {a.csr, {}, a.order}, dtype);
    check_entries(op, "e", a, e, dtype);
    detail::check_terms(op, "l", l, a.csr.rows, e, a.device());
    detail::check_terms(op, "r", r, a.csr.cols, e, a.device());
    ADJ_CHECK(l.dtype() == r.dtype(), "{}: l is {}, r is {}", op, l.str(), r.str());
  }
};
ADJ_KERNEL(edge_add, EdgeAddArgs)  ///< Target plus source terms of every edge.

/// y_i = Σ_k e over the entries k of row i of `a`, per head: the gradient of edge_add for targets and, over
/// the transposed structure, for sources. `e` [M] or [M, H] by edge number, `y` [rows] or [rows, H], dtypes
/// as in edge_add. The order of each row's sum depends only on the structure and H.
struct EdgeSumArgs {
  const CsrMatrix& a;
  const Tensor& e;
  Tensor& y;

  void check(std::string_view op) const {
    const DType dtype = accumulator_dtype(y.dtype());
    check_matrix(op, {a.csr, {}, a.order}, dtype);
    check_entries(op, "e", a, e, dtype);
    detail::check_terms(op, "y", y, a.csr.rows, e, a.device());
  }
};
ADJ_KERNEL(edge_sum, EdgeSumArgs)  ///< Sums of edge terms over each row.

}  // namespace adj::kernels
