#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

// Reductions over the middle of three dimensions, x[P,N,Q]; a reduction over any dimension of a tensor is one
// of these after reshaping. Sums over the first or last dimension have their own kernels (reduce.h).

namespace detail {

inline void check_middle(std::string_view op, const Tensor& x) {
  check_float(op, "x", x);
  ADJ_CHECK(x.dims() == 3, "{}: x is {}, expected three dimensions", op, x.str());
}

}  // namespace detail

/// y[P,Q] = Σ_n x[:, n, :]. Partial sums are merged in a fixed order.
struct SumDimArgs {
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    detail::check_middle(op, x);
    check_tensor(op, "y", y, {x.size(0), x.size(2)}, x.dtype(), x.device());
  }
};
ADJ_KERNEL(sum_dim, SumDimArgs)  ///< Sum over the middle dimension.

/// y[P,Q] = max_n x[:, n, :] and winner[P,Q] int32 = its n, ties to the smallest; N >= 1. The first NaN wins.
struct MaxDimArgs {
  const Tensor& x;
  Tensor& y;
  Tensor& winner;

  void check(std::string_view op) const {
    detail::check_middle(op, x);
    ADJ_CHECK(x.size(1) >= 1 && x.size(1) < (int64_t{1} << 31),
              "{}: x is {}, expected 1 to 2^31 - 1 elements for a maximum", op, x.str());
    check_tensor(op, "y", y, {x.size(0), x.size(2)}, x.dtype(), x.device());
    check_tensor(op, "winner", winner, y.shape(), DType::i32, x.device());
  }
};
ADJ_KERNEL(max_dim, MaxDimArgs)  ///< Maximum over the middle dimension.

/// dx[P,N,Q] = dy[P,Q] at the n of `winner` [P,Q], that of max_dim, zero elsewhere.
struct MaxDimBackwardArgs {
  const Tensor& winner;
  const Tensor& dy;
  Tensor& dx;

  Device device() const { return dx.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    detail::check_middle(op, dx);
    check_tensor(op, "dy", dy, {dx.size(0), dx.size(2)}, dx.dtype(), dx.device());
    check_tensor(op, "winner", winner, dy.shape(), DType::i32, dx.device());
  }
};
ADJ_KERNEL(max_dim_backward, MaxDimBackwardArgs)  ///< Gradient of max_dim.

}  // namespace adj::kernels
