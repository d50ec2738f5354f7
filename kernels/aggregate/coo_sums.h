#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

/// y[i] float32 [rows] = number of e with row[e] = i; row [M] int32 in [0, rows). Integer counts, bitwise
/// equal to row_sums over the sorted structure.
struct CooDegreesArgs {
  const Tensor& row;
  Tensor& y;

  void check(std::string_view op) const {
    check_index(op, "row", row, y.device());
    check_tensor(op, "y", y, {y.numel()}, DType::f32, y.device());
  }
};
ADJ_KERNEL(coo_degrees, CooDegreesArgs)  ///< Entries in each row of an unsorted list.

/// y[e] = w[e] / degree[row[e]]: edge_mean over a list. `degree` float32 [rows], nonzero for every row in the
/// list; `w` [M], all ones if absent; `y` [M], float32 or float64. `y` may be `w`.
struct CooMeanArgs {
  const Tensor& row;
  const Tensor& degree;
  const Tensor& w = kAbsent;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "y", y);
    check_index(op, "row", row, y.device());
    check_tensor(op, "degree", degree, {degree.numel()}, DType::f32, y.device());
    check_tensor(op, "y", y, row.shape(), accumulator_dtype(y.dtype()), y.device());
    if (w) check_like(op, "w", w, y);
  }
};
ADJ_KERNEL(coo_mean, CooMeanArgs)  ///< Weights with which a sum over an unsorted list is a mean.

/// D^-1/2 (A + I) D^-1/2 with D the row sums of A + I (GCN eq. 2, Kipf & Welling 2017) over an unsorted list
/// of M entries that ends with one self-loop per node (a.loops); without a.loops, I is not added. `values`
/// float32 [M - loops] of all entries but those, or absent: ones. A node without another self-loop gets one
/// of weight `fill`; otherwise the last of them in the list becomes its loop at the end. `weights` float32
/// [M], 0 for self-loops elsewhere in the list; without a.loops those count unchanged. 0 if a degree is not
/// positive. `degree` float32 [rows] is also an output: counts are exact and bitwise equal to gcn_normalize;
/// sums of weights are accumulated in list order in float64 on the CPU, in fixed point on a GPU (spmm_coo.h),
/// and are reproducible.
struct CooGcnNormalizeArgs {
  const Coo& a;
  const Tensor& values = kAbsent;
  float fill = 1.0f;
  Tensor& degree;
  Tensor& weights;

  void check(std::string_view op) const {
    check_coo(op, a);
    ADJ_CHECK(a.rows == a.cols, "{}: expected a square structure, got [{}, {}]", op, a.rows, a.cols);
    if (values) check_tensor(op, "values", values, {a.entries() - a.loops}, DType::f32, a.device());
    check_tensor(op, "degree", degree, {a.rows}, DType::f32, a.device());
    check_tensor(op, "weights", weights, {a.entries()}, DType::f32, a.device());
    ADJ_CHECK(!values || !weights.shares_storage_with(values), "{}: weights cannot be the values", op);
  }
};
ADJ_KERNEL(coo_gcn_normalize, CooGcnNormalizeArgs)  ///< GCN weights of an unsorted list.

/// y[i] = 1 / (number of entries of row i), [rows] float32 or float64: turns a sum over the row into a mean.
/// 0 for a row without entries.
struct MeanFactorsArgs {
  const Csr& a;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "y", y);
    check_csr(op, a);
    check_tensor(op, "y", y, {a.rows}, y.dtype(), a.device());
  }
};
ADJ_KERNEL(mean_factors, MeanFactorsArgs)  ///< Factors with which sums over rows are means.

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
