#pragma once

#include <adjoint/kernels/loss/loss.h>

#include <limits>

namespace adj::kernels {

/// Value of `ignored` that matches no label.
inline constexpr int64_t kNothingIgnored = std::numeric_limits<int64_t>::min();

namespace detail {

inline void check_weighted(std::string_view op, const Tensor& x, const Tensor& label, const Tensor& index,
                           const Tensor& weight, const Tensor& total) {
  check_labels(op, x, label, index);
  const DType accumulator = accumulator_dtype(x.dtype());
  if (weight) check_tensor(op, "weight", weight, {x.size(1)}, accumulator, x.device());
  check_scalar(op, "total", total, accumulator, x.device());
}

}  // namespace detail

/// softmax_cross_entropy over the rows of `index` with row i weighted by weight[label[i]] (`weight` [C],
/// accumulator dtype; 1 if absent) and rows with label[i] == `ignored` skipped: loss = Σ w_i (log Σ_c exp
/// x[i,c] - x[i, label[i]]) / Σ w_i. total = Σ w_i is kept for the backward pass. If it is 0 the CPU throws;
/// a GPU, which does not synchronize, gives loss 0 and zero gradients.
struct WeightedCrossEntropyArgs {
  const Tensor& x;
  const Tensor& label;
  const Tensor& index = kAbsent;
  const Tensor& weight = kAbsent;
  int64_t ignored = kNothingIgnored;
  Tensor& total;
  Tensor& loss;

  void check(std::string_view op) const {
    detail::check_weighted(op, x, label, index, weight, total);
    check_scalar(op, "loss", loss, accumulator_dtype(x.dtype()), x.device());
  }
};
ADJ_KERNEL(weighted_cross_entropy, WeightedCrossEntropyArgs)  ///< Weighted mean cross entropy.

/// dx [N,C] = dloss w_i / total (softmax(x_i) - one-hot of label[i]), for rows selected n times n times that,
/// from `x`, `label`, `index`, `weight` and `ignored` of the forward call and its `total`; `dloss` one
/// element.
struct WeightedCrossEntropyBackwardArgs {
  const Tensor& x;
  const Tensor& label;
  const Tensor& index = kAbsent;
  const Tensor& weight = kAbsent;
  int64_t ignored = kNothingIgnored;
  const Tensor& total;
  const Tensor& dloss;
  Tensor& dx;

  void check(std::string_view op) const {
    detail::check_weighted(op, x, label, index, weight, total);
    detail::check_gradient(op, x, dloss, dx);
  }
};
ADJ_KERNEL(weighted_cross_entropy_backward, WeightedCrossEntropyBackwardArgs)  ///< Gradient of the logits.

}  // namespace adj::kernels
