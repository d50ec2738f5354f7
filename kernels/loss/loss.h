#pragma once

#include <adjoint/kernels/kernel.h>

#include <limits>

namespace adj::kernels {

// Losses are means over the rows selected by `index` (int32 [K], in range), or over all rows if it is absent;
// a row selected several times counts as often, in the loss and in the gradient. `loss` has one element.
// Losses, their gradients and the targets of bce and mse have the accumulator dtype. The backward passes take
// dloss (one element, on the device), write every row of the gradient (zeros for rows not selected), and
// recompute the forward values: only the inputs are saved. `dx` may be `x`. K = 0 is an error, and so is a
// row of `index` or a label out of range. The CPU throws at once; a GPU, which does not synchronize within a
// step, sets the loss to NaN, and the next read from that device throws.

/// Value of `ignored` that matches no label.
inline constexpr int64_t kNothingIgnored = std::numeric_limits<int64_t>::min();

namespace detail {

inline void check_selection(std::string_view op, const Tensor& x, const Tensor& index) {
  check_matrix(op, "x", x);
  ADJ_CHECK(x.size(1) >= 1, "{}: x is {}, expected at least one column", op, x.str());
  if (index) check_index(op, "index", index, x.device());
  ADJ_CHECK((index ? index.numel() : x.size(0)) > 0, "{}: no row is selected", op);
}

inline void check_labels(std::string_view op, const Tensor& x, const Tensor& label, const Tensor& index,
                         const Tensor& weight, const Tensor& total) {
  check_selection(op, x, index);
  check_tensor(op, "label", label, {x.size(0)}, DType::i32, x.device());
  const DType accumulator = accumulator_dtype(x.dtype());
  if (weight) check_tensor(op, "weight", weight, {x.size(1)}, accumulator, x.device());
  check_scalar(op, "total", total, accumulator, x.device());
}

inline void check_targets(std::string_view op, const Tensor& x, const Tensor& target, const Tensor& index,
                          const Tensor& positive) {
  check_selection(op, x, index);
  const DType accumulator = accumulator_dtype(x.dtype());
  check_tensor(op, "target", target, x.shape(), accumulator, x.device());
  if (!positive) return;
  ADJ_CHECK(op.starts_with("bce"), "{}: positive is {}, expected none", op, positive.str());
  check_tensor(op, "positive", positive, {x.size(1)}, accumulator, x.device());
}

inline void check_gradient(std::string_view op, const Tensor& x, const Tensor& dloss, const Tensor& dx) {
  check_scalar(op, "dloss", dloss, accumulator_dtype(x.dtype()), x.device());
  check_like(op, "dx", dx, x);
}

}  // namespace detail

/// loss = Σ w_i (log Σ_c exp x[i,c] - x[i, label[i]]) / Σ w_i, i = index[k]; x [N,C], label int32 [N] in [0,
/// C). Row i has the weight weight[label[i]] (`weight` [C], accumulator dtype; 1 if absent), and none if
/// label[i]
/// == `ignored`. total = Σ w_i is kept for the backward pass. If it is 0, so are loss and
/// gradients.
struct SoftmaxCrossEntropyArgs {
  const Tensor& x;
  const Tensor& label;
  const Tensor& index = kAbsent;
  const Tensor& weight = kAbsent;
  int64_t ignored = kNothingIgnored;
  Tensor& total;
  Tensor& loss;

  void check(std::string_view op) const {
    detail::check_labels(op, x, label, index, weight, total);
    check_scalar(op, "loss", loss, accumulator_dtype(x.dtype()), x.device());
  }
};
ADJ_KERNEL(softmax_cross_entropy, SoftmaxCrossEntropyArgs)  ///< Weighted mean cross entropy of logits.

/// dx [N,C] = dloss w_i / total (softmax(x_i) - one-hot of label[i]), for rows selected n times n times that,
/// from `x`, `label`, `index`, `weight` and `ignored` of the forward call and its `total`; `dloss` one
/// element.
struct SoftmaxCrossEntropyBackwardArgs {
  const Tensor& x;
  const Tensor& label;
  const Tensor& index = kAbsent;
  const Tensor& weight = kAbsent;
  int64_t ignored = kNothingIgnored;
  const Tensor& total;
  const Tensor& dloss;
  Tensor& dx;

  void check(std::string_view op) const {
    detail::check_labels(op, x, label, index, weight, total);
    detail::check_gradient(op, x, dloss, dx);
  }
};
ADJ_KERNEL(softmax_cross_entropy_backward, SoftmaxCrossEntropyBackwardArgs)  ///< Gradient of the logits.

/// A loss comparing x [N,T] with targets t of the same shape. NaN marks a missing target, which does not
/// count: loss = Σ term / total over the rows of `index`; total, the number of targets present, is kept for
/// the backward pass. If it is 0, so are loss and gradients. `positive` [T], of bce alone: the weight of each
/// column's positive labels, 1 if absent; it does not change `total`.
struct TargetLossArgs {
  const Tensor& x;
  const Tensor& target;
  const Tensor& index = kAbsent;
  const Tensor& positive = kAbsent;
  Tensor& total;
  Tensor& loss;

  void check(std::string_view op) const {
    detail::check_targets(op, x, target, index, positive);
    check_scalar(op, "total", total, accumulator_dtype(x.dtype()), x.device());
    check_scalar(op, "loss", loss, accumulator_dtype(x.dtype()), x.device());
  }
};

/// dx [N,T] = dloss / total times the derivative of the term at x, for rows selected n times n times that, 0
/// for a missing target, from `x`, `target`, `index`, `positive` and `total` of the forward call; `dloss` one
/// element.
struct TargetLossBackwardArgs {
  const Tensor& x;
  const Tensor& target;
  const Tensor& index = kAbsent;
  const Tensor& positive = kAbsent;
  const Tensor& total;
  const Tensor& dloss;
  Tensor& dx;

  void check(std::string_view op) const {
    detail::check_targets(op, x, target, index, positive);
    check_scalar(op, "total", total, accumulator_dtype(x.dtype()), x.device());
    detail::check_gradient(op, x, dloss, dx);
  }
};

/// term = p t softplus(-x) + (1 - t) softplus(x), p of `positive`; softplus(x) = log(1 + exp(x)).
ADJ_KERNEL(bce_with_logits, TargetLossArgs)
ADJ_KERNEL(bce_with_logits_backward, TargetLossBackwardArgs)  ///< Derivative (1 - t) σ(x) - p t σ(-x).

/// term = (x - t)^2.
ADJ_KERNEL(mse_loss, TargetLossArgs)
ADJ_KERNEL(mse_loss_backward, TargetLossBackwardArgs)  ///< Derivative 2 (x - t).

/// For losses with row weights: goal[k,t] = target[index[k],t], share[k,t] = weight[k] / T; both 0 for a
/// missing (NaN) target. All of the accumulator dtype; index int32 [K], in range (on a GPU a row out of range
/// gives NaN).
struct WeightedTargetsArgs {
  const Tensor& target;
  const Tensor& index;
  const Tensor& weight;
  Tensor& goal;
  Tensor& share;

  Device device() const { return target.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    detail::check_selection(op, target, index);
    check_tensor(op, "weight", weight, {index.numel()}, target.dtype(), target.device());
    for (const auto& [name, to] : {std::pair("goal", &goal), std::pair("share", &share)})
      check_tensor(op, name, *to, {index.numel(), target.size(1)}, target.dtype(), target.device());
  }
};
ADJ_KERNEL(weighted_targets, WeightedTargetsArgs)  ///< Targets and weights of selected rows.

}  // namespace adj::kernels
