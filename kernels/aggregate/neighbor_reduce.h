#pragma once

#include <adjoint/kernels/sparse/csr.h>
#include <adjoint/kernels/types/reduce.h>

#include <array>
#include <span>

namespace adj::kernels {

/// The reductions of a call and the position of each in a row of the result.
struct ReductionSet {
  std::array<int, kReductions> place{-1, -1, -1, -1, -1, -1};  ///< -1: not computed
  int count = 0;                                               ///< the K reductions of the call

  ReductionSet(std::string_view op, std::span<const Reduce> reductions) {
    for (Reduce reduce : reductions) {
      int& position = place[static_cast<size_t>(reduce)];
      ADJ_CHECK(position < 0, "{}: {} is requested twice", op, name_of(reduce));
      position = count++;
    }
    ADJ_CHECK(count > 0, "{}: no reduction is requested", op);
  }
  int operator[](Reduce reduce) const { return place[static_cast<size_t>(reduce)]; }  ///< -1: not computed
  bool has(Reduce reduce) const { return (*this)[reduce] >= 0; }  ///< whether it is computed
  /// Whether a reduction's gradient needs the terms themselves.
  bool has_spread() const { return has(Reduce::var) || has(Reduce::std); }
  /// Whether it needs sums: any of sum, mean, var and std.
  bool has_moments() const { return has(Reduce::sum) || has(Reduce::mean) || has_spread(); }
};

/// y[rows, K F]: the K reductions of the rows x_j of x [cols,F] over the entries (i, j) of row i of `a`; the
/// k-th of `reduce`, which has no duplicates, is in columns [k F, (k + 1) F). One pass, each x_j read once
/// (aggregators of PNA, Corso et al. 2020, eq. 6). Rows without entries give 0. A NaN among the terms makes
/// every reduction of that feature NaN. `max_winner` and `min_winner`, int32 [rows,F], optional: the column j
/// of the term that is the result; of equal terms (or of NaNs, if there are any) the first in the row, which
/// is the smallest column if rows are sorted; -1 in rows without entries. `mean` [rows,F] of the accumulator
/// dtype, optional: the unrounded mean, for the gradient of var and std. A variance is summed relative to the
/// row's first term, so that a variance far below the squared mean keeps its digits. Sums are in entry order,
/// or in a fixed tree that depends on the structure.
///
/// With `weight` [M] of the accumulator dtype, only max or min, not both, of w_e x_j, computed and compared
/// in that dtype; entry e has weight[order[e]] (`order` int32 [M]), or weight[e] without order. A winner is
/// then the index of its weight instead of the column, since parallel entries differ: of equal terms the
/// first entry.
struct NeighborReduceArgs {
  const Csr& a;
  const Tensor& x;
  std::span<const Reduce> reduce;
  const Tensor& weight = kAbsent;
  const Tensor& order = kAbsent;
  Tensor& y;
  Tensor max_winner = {};
  Tensor min_winner = {};
  Tensor mean = {};

  void check(std::string_view op) const {
    check_csr(op, a);
    check_matrix(op, "x", x);
    const int64_t width = x.size(1);
    const ReductionSet set(op, reduce);
    check_tensor(op, "x", x, {a.cols, width}, x.dtype(), a.device());
    check_tensor(op, "y", y, {a.rows, set.count * width}, x.dtype(), a.device());
    ADJ_CHECK(!y.shares_storage_with(x), "{}: y cannot be x", op);
    if (weight) {
      check_matrix(op, {a, weight, order}, accumulator_dtype(x.dtype()));
      ADJ_CHECK(weight.numel() == a.entries(), "{}: {} weights for {} entries", op, weight.numel(),
                a.entries());
      ADJ_CHECK(set.count == 1 && !set.has_moments(),
                "{}: weights are allowed for max or min only, not for {} reductions{}", op, set.count,
                set.has_moments() ? " with sums" : "");
    }
    const Shape of_rows{a.rows, width};
    if (max_winner) check_tensor(op, "max_winner", max_winner, of_rows, DType::i32, a.device());
    if (min_winner) check_tensor(op, "min_winner", min_winner, of_rows, DType::i32, a.device());
    if (mean) check_tensor(op, "mean", mean, of_rows, accumulator_dtype(x.dtype()), a.device());
    ADJ_CHECK(!max_winner || set.has(Reduce::max), "{}: argmax is requested without max", op);
    ADJ_CHECK(!min_winner || set.has(Reduce::min), "{}: argmin is requested without min", op);
    ADJ_CHECK(!mean || set.has_moments(), "{}: a mean to save, but no sums are requested", op);
  }
};
ADJ_KERNEL(neighbor_reduce, NeighborReduceArgs)  ///< Several reductions of the same neighbours in one pass.

}  // namespace adj::kernels
