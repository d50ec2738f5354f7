#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// low[k] = min(a[k], b[k]), high[k] = max(a[k], b[k]); all int32 [K].
struct OrderPairsArgs {
  const Tensor& a;
  const Tensor& b;
  Tensor& low;
  Tensor& high;

  void check(std::string_view op) const {
    check_index(op, "a", a, a.device());
    check_like(op, {{"b", b}, {"low", low}, {"high", high}}, a);
  }
};
ADJ_KERNEL(order_pairs, OrderPairsArgs)  ///< Smaller and larger number of each pair.

/// y[r, :] = sum (or mean) of x[order[k], :] for k in [starts[r], starts[r + 1]) (to the end of `order` for
/// the last r): x [M,E], y [R,E] float32 or float64, `starts` int32 [R] ascending from 0, `order` int32 [K].
/// Accumulated in order, in float64: bitwise identical on every device.
struct MergeRunsArgs {
  bool mean;
  const Tensor& x;
  const Tensor& order;
  const Tensor& starts;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_index(op, {{"order", order}, {"starts", starts}}, x.device());
    check_tensor(op, "y", y, {starts.numel(), x.size(1)}, x.dtype(), x.device());
  }
};
ADJ_KERNEL(merge_runs, MergeRunsArgs)  ///< Sums or means of runs of rows.

}  // namespace adj::kernels
