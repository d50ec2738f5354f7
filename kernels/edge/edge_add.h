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
