#pragma once

#include <adjoint/kernels/aggregate/neighbor_reduce.h>
#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

// The gradient of a maximum or minimum goes to the winners by one of two methods. Gather: each source loops
// over its out-edges, in the transposed structure, and sums what it won: entries x F reads. Scatter: each
// result is added to its winner: rows x F additions to random rows, on a GPU by integer atomics in fixed
// point, with the same bits in any order.

/// Entries per row up to which gathering is faster: vector reads against single additions, on a GPU against
/// atomics.
inline constexpr int64_t kGatheredDegreeOnCpu = 16, kGatheredDegreeOnCuda = 8;  ///< the same on a GPU

/// Whether neighbor_minmax_backward needs the transposed structure, for a structure of that many rows and
/// entries. On a GPU always in float64, which has no fixed-point sums.
inline bool minmax_backward_gathers(int64_t rows, int64_t entries, DType dtype, Device device) {
  if (device.is_cuda() && dtype == DType::f64) return true;
  return entries <= (device.is_cpu() ? kGatheredDegreeOnCpu : kGatheredDegreeOnCuda) * rows;
}

/// dx_j,f = Σ dy_i,f over the (i, f) that j won: winner_i,f = j. `winner` int32 [rows,F] in [-1, cols), -1 if
/// there is no winner; `dy` [rows, K F], whose columns [part F, (part + 1) F) are the gradient; `dx`
/// [cols,F], added to if `accumulate`. The CPU sums in row order. A GPU gathers over `transposed` [cols,
/// rows], the transposed structure with rows in any order, if it is given; otherwise it sums in fixed point
/// (not float64): each term is rounded to a unit of at most 2^-58 rows max |dy| and the sum is exact. Both
/// are reproducible. If dy is not finite, dx is not either.
///
/// Weighted terms (NeighborReduceArgs): dx_j,f = Σ w_e dy_i,f over the entries e of j that won (i, f), for
/// `winner` in [-1, M), an index into the weights, and `weight` [M] of the accumulator dtype. Always
/// gathered: entry k of `transposed` has weight[order[k]] (`order` int32 [M]), or weight[k] without order.
struct NeighborMinmaxBackwardArgs {
  const Tensor& winner;
  const Tensor& dy;
  int64_t part = 0;
  const Csr* transposed = nullptr;
  const Tensor& weight = kAbsent;
  const Tensor& order = kAbsent;
  bool accumulate = false;
  Tensor& dx;

  Device device() const { return dx.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_matrix(op, {{"dx", dx}, {"dy", dy}});
    const int64_t rows = dy.size(0), width = dx.size(1);
    check_tensor(op, "winner", winner, {rows, width}, DType::i32, dx.device());
    check_tensor(op, "dy", dy, dy.shape(), dx.dtype(), dx.device());
    ADJ_CHECK(part >= 0 && (part + 1) * width <= dy.size(1), "{}: part {} of dy {} for dx {}", op, part,
              dy.str(), dx.str());
    ADJ_CHECK(!dx.shares_storage_with(dy), "{}: dx cannot be dy", op);
    ADJ_CHECK(!weight || transposed != nullptr,
              "{}: the gradient of weighted terms is gathered: expected the transposed structure", op);
    if (transposed == nullptr) return;
    check_csr(op, *transposed);
    if (weight) check_matrix(op, {*transposed, weight, order}, accumulator_dtype(dx.dtype()));
    ADJ_CHECK(
        transposed->rows == dx.size(0) && transposed->cols == rows && transposed->device() == dx.device(),
        "{}: transposed structure [{}, {}] on {} for dx {} and dy {}", op, transposed->rows, transposed->cols,
        transposed->device().str(), dx.str(), dy.str());
  }
};
ADJ_KERNEL(neighbor_minmax_backward, NeighborMinmaxBackwardArgs)  ///< Gradient of x.

/// dw_e = Σ dy_i,f x_j,f over the features f that entry e = (i, j) won: winner_i,f = e. The gradient of the
/// weights of a maximum or minimum of w_e x_j. `a` lists the entries in the order of the weights; `winner`
/// int32 [rows,F] in [-1, M); `dy` [rows,F]; `x` [cols,F]; `dw` [M] of the accumulator dtype. Summed over f
/// in a fixed order.
struct MinmaxWeightGradientArgs {
  const Coo& a;
  const Tensor& winner;
  const Tensor& dy;
  const Tensor& x;
  Tensor& dw;

  void check(std::string_view op) const {
    check_coo(op, a);
    check_matrix(op, "x", x);
    const Shape of_rows{a.rows, x.size(1)};
    check_tensor(op, "x", x, {a.cols, x.size(1)}, x.dtype(), a.device());
    check_tensor(op, "dy", dy, of_rows, x.dtype(), a.device());
    check_tensor(op, "winner", winner, of_rows, DType::i32, a.device());
    check_tensor(op, "dw", dw, {a.entries()}, accumulator_dtype(x.dtype()), a.device());
  }
};
ADJ_KERNEL(minmax_weight_gradient, MinmaxWeightGradientArgs)  ///< Gradient of weights.

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
