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

  Device device() const { return a.csr.device(); }
  void check() const {
    check_float("edge_mean", "y", y);
    check_matrix("edge_mean", {a.csr, {}, a.order}, y.dtype());
    check_entries("edge_mean", "y", a, y, y.dtype());
    if (w) check_like("edge_mean", "w", w, y);
  }
};
ADJ_KERNEL(edge_mean, EdgeMeanArgs)

}  // namespace adj::kernels
