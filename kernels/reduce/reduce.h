#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

namespace detail {

inline void check_middle(std::string_view op, const Tensor& x) {
  check_float(op, "x", x);
  ADJ_CHECK(x.dims() == 3, "{}: x is {}, expected three dimensions", op, x.str());
}

}  // namespace detail

/// y[F] = Σ_i x[i, :] over the rows of x[N,F]. Partial sums are merged in a fixed order.
struct SumRowsArgs {
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_tensor(op, "y", y, {x.size(1)}, x.dtype(), x.device());
  }
};
ADJ_KERNEL(sum_rows, SumRowsArgs)  ///< Sum of the rows.

/// y[N] = Σ_f x[:, f] over the columns of x[N,F].
struct SumColumnsArgs {
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_tensor(op, "y", y, {x.size(0)}, x.dtype(), x.device());
  }
};
ADJ_KERNEL(sum_columns, SumColumnsArgs)  ///< Sum of the columns.

/// y (one element, accumulator dtype) = scale * Σ x, any shape.
struct SumAllArgs {
  const Tensor& x;
  double scale = 1.0;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "x", x);
    check_scalar(op, "y", y, accumulator_dtype(x.dtype()), x.device());
  }
};
ADJ_KERNEL(sum_all, SumAllArgs)  ///< Scaled sum of all elements.

/// The mean over all of R sets from their means and the weights of these, all [R] of one accumulator dtype:
/// mean = Σ means[r] weights[r] / Σ weights, share = weights[set] / Σ weights, one element each; both 0 if
/// the weights add up to 0. A set of weight 0 does not count, whatever its mean.
struct MergeMeansArgs {
  const Tensor& means;
  const Tensor& weights;
  int64_t set;
  Tensor& mean;
  Tensor& share;

  Device device() const { return means.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    ADJ_CHECK(means && means.dims() == 1 && set >= 0 && set < means.numel() &&
                  accumulator_dtype(means.dtype()) == means.dtype(),
              "{}: means are {}, expected [R] with set {}, not bfloat16", op, means.str(), set);
    check_like(op, "weights", weights, means);
    check_scalar(op, "mean", mean, means.dtype(), means.device());
    check_scalar(op, "share", share, means.dtype(), means.device());
  }
};
ADJ_KERNEL(merge_means, MergeMeansArgs)  ///< Mean of several sets.

namespace detail {
/// merge_means of one device.
template <class T>
ADJ_HOST_DEVICE void merge_means(const T* means, const T* weights, int64_t sets, int64_t set, T* mean,
                                 T* share) {
  double sum = 0.0, all = 0.0;
  for (int64_t r = 0; r < sets; ++r) {
    if (weights[r] == T{0}) continue;
    sum += static_cast<double>(means[r]) * static_cast<double>(weights[r]);
    all += static_cast<double>(weights[r]);
  }
  *mean = all == 0.0 ? T{0} : static_cast<T>(sum / all);
  *share = all == 0.0 ? T{0} : static_cast<T>(static_cast<double>(weights[set]) / all);
}
}  // namespace detail

/// y[N] int32 = argmax of x[i, :], ties to the smallest column. NaN never wins; a row of NaNs gives 0. x has
/// at least one column.
struct ArgmaxColumnsArgs {
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    ADJ_CHECK(x.size(1) >= 1, "{}: x is {}, expected at least one column", op, x.str());
    check_tensor(op, "y", y, {x.size(0)}, DType::i32, x.device());
  }
};
ADJ_KERNEL(argmax_columns, ArgmaxColumnsArgs)  ///< Column of the largest element of each row.

/// y (one element, int64) = Σ_k [a[index[k]] == b[index[k]]], all int32; without `index`, over all elements.
struct CountEqualArgs {
  const Tensor& a;
  const Tensor& b;
  const Tensor& index = kAbsent;
  Tensor& y;

  void check(std::string_view op) const {
    check_index(op, "a", a, a.device());
    check_like(op, "b", b, a);
    if (index) check_index(op, "index", index, a.device());
    check_scalar(op, "y", y, DType::i64, a.device());
  }
};
ADJ_KERNEL(count_equal, CountEqualArgs)  ///< Number of equal elements.

// Reductions over the middle of three dimensions, x[P,N,Q]; a reduction over any dimension of a tensor is one
// of these after reshaping. Sums over the first or last dimension have their own kernels, above.

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

/// Per row of x[N,C]: y = exp(x - m) / Σ exp(x - m) with m the row maximum, or with `log` its logarithm x - m
/// - log Σ exp(x - m). A row with NaN or +inf, or of only -inf, is NaN. `y` may be `x`.
struct SoftmaxArgs {
  bool log = false;
  const Tensor& x;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_like(op, "y", y, x);
  }
};
ADJ_KERNEL(softmax, SoftmaxArgs)  ///< Softmax of each row, or its logarithm.

/// From the output y: dx = y (dy - Σ dy y), or with `log` dx = dy - exp(y) Σ dy. `dx` may be `dy`.
struct SoftmaxBackwardArgs {
  bool log = false;
  const Tensor& y;
  const Tensor& dy;
  Tensor& dx;

  void check(std::string_view op) const {
    check_matrix(op, "y", y);
    check_like(op, {{"dy", dy}, {"dx", dx}}, y);
  }
};
ADJ_KERNEL(softmax_backward, SoftmaxBackwardArgs)  ///< Gradient of softmax.

}  // namespace adj::kernels
