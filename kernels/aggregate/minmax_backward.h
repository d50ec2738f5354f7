#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

// The gradient of a maximum or minimum comes back to the winners in one of two ways. Gathered: each source
// goes through its out-edges and takes what it won there, over the transposed structure: entries x F reads.
// Scattered: each result is added to its winner: rows x F additions to random rows, on a GPU integer atomics
// of fixed point, with the same bits in any order.

/// Entries a row up to which gathering is the faster: reads in vectors against additions one by one, on a GPU
/// against atomics.
inline constexpr int64_t kGatheredDegreeOnCpu = 16, kGatheredDegreeOnCuda = 8;

/// Does neighbor_minmax_backward want the transposed structure for a structure of that many rows and
/// entries? On a GPU always in float64, which has no fixed point to be summed in.
inline bool minmax_backward_gathers(int64_t rows, int64_t entries, DType dtype, Device device) {
  if (device.is_cuda() && dtype == DType::f64) return true;
  return entries <= (device.is_cpu() ? kGatheredDegreeOnCpu : kGatheredDegreeOnCuda) * rows;
}

/// dx_j,f = Σ dy_i,f over the (i, f) that j won: winner_i,f = j. `winner` int32 [rows,F] in [-1, cols), -1
/// where nobody won; `dy` [rows, K F] whose columns [part F, (part + 1) F) are the gradient; `dx` [cols,F],
/// to which is added where `accumulate`. The CPU sums in row order. A GPU gathers over `transposed` [cols,
/// rows], the structure of the winners, rows in any order, where it is given, else it sums in fixed point
/// (not float64): every term is rounded to a unit of at most 2^-58 rows max |dy|, the sum is exact. Either
/// way the bits are the same in every run. A dy that is not finite leaves a dx that is not.
///
/// Of weighted terms (NeighborReduceArgs): dx_j,f = Σ w_e dy_i,f over the entries e of j that won (i, f), for
/// `winner` in [-1, M), the places of weights, and `weight` wide [M]. Always gathered: entry k of
/// `transposed` has weight[order[k]] (`order` int32 [M]), or weight[k] where there is no order.
struct NeighborMinmaxBackwardArgs {
  const Tensor& winner;
  const Tensor& dy;
  int64_t part = 0;
  const Csr* transposed = nullptr;
  const Tensor& weight = kAbsent;
  const Tensor& order = kAbsent;
  bool accumulate = false;
  Tensor& dx;

  Device device() const { return dx.device(); }
  void check() const {
    constexpr std::string_view kName = "neighbor_minmax_backward";
    check_matrix(kName, "dx", dx);
    check_matrix(kName, "dy", dy);
    const int64_t rows = dy.size(0), width = dx.size(1);
    check_tensor(kName, "winner", winner, {rows, width}, DType::i32, dx.device());
    check_tensor(kName, "dy", dy, dy.shape(), dx.dtype(), dx.device());
    ADJ_CHECK(part >= 0 && (part + 1) * width <= dy.size(1), "{}: part {} of dy {} for dx {}", kName, part,
              dy.str(), dx.str());
    ADJ_CHECK(!dx.shares_storage_with(dy), "{}: dx cannot be dy", kName);
    ADJ_CHECK(!weight || transposed != nullptr,
              "{}: the gradient of weighted terms is gathered: expected the transposed structure", kName);
    if (transposed == nullptr) return;
    check_csr(kName, *transposed);
    if (weight) check_matrix(kName, {*transposed, weight, order}, accumulator_dtype(dx.dtype()));
    ADJ_CHECK(
        transposed->rows == dx.size(0) && transposed->cols == rows && transposed->device() == dx.device(),
        "{}: transposed structure [{}, {}] on {} for dx {} and dy {}", kName, transposed->rows,
        transposed->cols, transposed->device().str(), dx.str(), dy.str());
  }
};
ADJ_KERNEL(neighbor_minmax_backward, NeighborMinmaxBackwardArgs)

}  // namespace adj::kernels
