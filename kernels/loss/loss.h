#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

// Losses are means over the rows that `index` (int32 [K], in range) selects, or over all rows where it is
// absent; a row that stands there several times counts as often, in the loss and in the gradient. `loss` has
// one element. Losses, their gradients and the targets of bce and mse are wide. The backward passes take
// dloss (one element, on the device), write every row of the gradient, zeros where a row was not selected,
// and recompute what the forward pass knew: nothing is saved but the inputs. K = 0 is an error. So is a row
// of `index` or a label that is out of range: on the CPU at once; a GPU, which is not asked in the middle of
// a step, leaves the loss NaN, and who reads it (or anything else) from there gets the error.

namespace detail {

inline void check_selection(std::string_view op, const Tensor& x, const Tensor& index) {
  check_matrix(op, "x", x);
  ADJ_CHECK(x.size(1) >= 1, "{}: x is {}, expected at least one column", op, x.str());
  if (index) check_index(op, "index", index, x.device());
  ADJ_CHECK((index ? index.numel() : x.size(0)) > 0, "{}: no row is selected", op);
}

inline void check_labels(std::string_view op, const Tensor& x, const Tensor& label, const Tensor& index) {
  check_selection(op, x, index);
  check_tensor(op, "label", label, {x.size(0)}, DType::i32, x.device());
}

inline void check_targets(std::string_view op, const Tensor& x, const Tensor& target, const Tensor& index) {
  check_selection(op, x, index);
  check_tensor(op, "target", target, x.shape(), wide_dtype(x.dtype()), x.device());
}

inline void check_gradient(std::string_view op, const Tensor& x, const Tensor& dloss, const Tensor& dx) {
  check_scalar(op, "dloss", dloss, wide_dtype(x.dtype()), x.device());
  check_like(op, "dx", dx, x);
  ADJ_CHECK(!dx.shares_storage_with(x), "{}: dx cannot be x", op);
}

}  // namespace detail

/// loss = mean_k ( log Σ_c exp x[i,c] - x[i, label[i]] ), i = index[k]; x [N,C], label int32 [N] in [0, C).
struct SoftmaxCrossEntropyArgs {
  const Tensor& x;
  const Tensor& label;
  const Tensor& index = kAbsent;
  Tensor& loss;

  Device device() const { return x.device(); }
  void check() const {
    detail::check_labels("cross_entropy", x, label, index);
    check_scalar("cross_entropy", "loss", loss, wide_dtype(x.dtype()), x.device());
  }
};
ADJ_KERNEL(softmax_cross_entropy, SoftmaxCrossEntropyArgs)

struct SoftmaxCrossEntropyBackwardArgs {
  const Tensor& x;
  const Tensor& label;
  const Tensor& index = kAbsent;
  const Tensor& dloss;
  Tensor& dx;

  Device device() const { return x.device(); }
  void check() const {
    detail::check_labels("softmax_cross_entropy_backward", x, label, index);
    detail::check_gradient("softmax_cross_entropy_backward", x, dloss, dx);
  }
};
ADJ_KERNEL(softmax_cross_entropy_backward, SoftmaxCrossEntropyBackwardArgs)

/// A loss that compares x [N,T] with targets t of the same shape. A target that is NaN is none, and does not
/// count: loss = Σ term / total, and total, the number of those that do, is kept for the backward pass. Where
/// it is 0 the CPU throws; a GPU, which is not asked, leaves the loss 0 and a gradient of zeros.
struct TargetLossArgs {
  const Tensor& x;
  const Tensor& target;
  const Tensor& index = kAbsent;
  Tensor& total;
  Tensor& loss;

  Device device() const { return x.device(); }
  void check(std::string_view op) const {
    detail::check_targets(op, x, target, index);
    check_scalar(op, "total", total, wide_dtype(x.dtype()), x.device());
    check_scalar(op, "loss", loss, wide_dtype(x.dtype()), x.device());
  }
};

struct TargetLossBackwardArgs {
  const Tensor& x;
  const Tensor& target;
  const Tensor& index = kAbsent;
  const Tensor& total;
  const Tensor& dloss;
  Tensor& dx;

  Device device() const { return x.device(); }
  void check(std::string_view op) const {
    detail::check_targets(op, x, target, index);
    check_scalar(op, "total", total, wide_dtype(x.dtype()), x.device());
    detail::check_gradient(op, x, dloss, dx);
  }
};

/// term = max(x,0) - x t + log(1 + exp(-|x|)).
ADJ_KERNEL(bce_with_logits, TargetLossArgs)
ADJ_KERNEL(bce_with_logits_backward, TargetLossBackwardArgs)

/// term = (x - t)^2.
ADJ_KERNEL(mse_loss, TargetLossArgs)
ADJ_KERNEL(mse_loss_backward, TargetLossBackwardArgs)

/// For losses whose rows have weights: goal[k,t] = target[index[k],t], share[k,t] = weight[k] / T; 0 and 0
/// where that target is NaN, none. All wide; index int32 [K], in range (on a GPU a row that is not is NaN).
struct WeightedTargetsArgs {
  const Tensor& target;
  const Tensor& index;
  const Tensor& weight;
  Tensor& goal;
  Tensor& share;

  Device device() const { return target.device(); }
  void check() const {
    constexpr std::string_view op = "weighted_targets";
    detail::check_selection(op, target, index);
    check_tensor(op, "weight", weight, {index.numel()}, target.dtype(), target.device());
    for (const auto& [name, to] : {std::pair("goal", &goal), std::pair("share", &share)})
      check_tensor(op, name, *to, {index.numel(), target.size(1)}, target.dtype(), target.device());
  }
};
ADJ_KERNEL(weighted_targets, WeightedTargetsArgs)

}  // namespace adj::kernels
