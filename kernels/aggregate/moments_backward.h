#pragma once

#include <adjoint/kernels/aggregate/neighbor_reduce.h>

namespace adj::kernels {

/// Gradient of the reductions sum, mean, var and std: dx_j = Σ_i p_i + x_j Σ_i q_i over the rows i that
/// contain j, with d_i the number of entries of row i and
///   q_i = (2 dvar_i + dstd_i / std_i) / d_i,  p_i = dsum_i + dmean_i / d_i - q_i mean_i.
/// This op computes the terms of the rows: `terms` [rows, F] = p if neither var nor std is in `reduce`, else
/// [rows, 2 F] = p and q concatenated, 0 in rows without entries. The sums over i are a product with the
/// transposed structure (spmm); moments_gradient then combines them. `dy` and `y` [rows, K F] as in
/// NeighborReduceArgs; y is read for std only; `mean` [rows,F] is needed for var and std. `terms` and `mean`
/// have the accumulator dtype.
struct MomentTermsArgs {
  const Csr& a;
  std::span<const Reduce> reduce;
  const Tensor& dy;
  const Tensor& y = kAbsent;
  const Tensor& mean = kAbsent;
  Tensor& terms;

  void check(std::string_view op) const {
    check_csr(op, a);
    check_matrix(op, "dy", dy);
    const ReductionSet set(op, reduce);
    ADJ_CHECK(set.has_moments(), "{}: none of sum, mean, var and std is requested", op);
    const DType accumulator = accumulator_dtype(dy.dtype());
    ADJ_CHECK(dy.size(1) % set.count == 0, "{}: dy is {}, expected {} parts", op, dy.str(), set.count);
    const int64_t width = dy.size(1) / set.count;
    check_tensor(op, "dy", dy, {a.rows, dy.size(1)}, dy.dtype(), a.device());
    check_tensor(op, "terms", terms, {a.rows, set.has_spread() ? 2 * width : width}, accumulator, a.device());
    if (set.has(Reduce::std)) check_like(op, "y", y, dy);
    if (set.has_spread()) check_tensor(op, "mean", mean, {a.rows, width}, accumulator, a.device());
  }
};
ADJ_KERNEL(moment_terms, MomentTermsArgs)  ///< The terms p and q of each row.

/// dx[N,F] = sums[:, f] + x sums[:, F + f] with `sums` [N, 2 F] of the accumulator dtype.
struct MomentsGradientArgs {
  const Tensor& x;
  const Tensor& sums;
  Tensor& dx;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_tensor(op, "sums", sums, {x.size(0), 2 * x.size(1)}, accumulator_dtype(x.dtype()), x.device());
    check_like(op, "dx", dx, x);
  }
};
ADJ_KERNEL(moments_gradient, MomentsGradientArgs)  ///< Gradient of x from the summed terms.

}  // namespace adj::kernels
