#pragma once

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

}  // namespace adj::kernels
