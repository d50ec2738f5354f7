#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

/// y = w_ij / (number of entries of row i): turns a weighted sum over the row into a mean of weighted terms.
/// `w` [M] or [M, H] by edge number (entry k is edge order[k], or k); absent: all ones. `y` has the same
/// layout, in float32 or float64, and may be `w`. `a.values` is not read.
struct EdgeMeanArgs {
  const CsrMatrix& a;
  const Tensor& w = kAbsent;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "y", y);
    check_matrix(op, {a.csr, {}, a.order}, y.dtype());
    check_entries(op, "y", a, y, y.dtype());
    if (w) check_like(op, "w", w, y);
  }
};
ADJ_KERNEL(edge_mean, EdgeMeanArgs)  ///< Weights with which a sum over a row is a mean.

}  // namespace adj::kernels
