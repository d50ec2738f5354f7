#pragma once

#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/variable.h>
#include <adjoint/core/convert.h>
#include <adjoint/kernels/loss/loss.h>
#include <adjoint/kernels/loss/weighted_cross_entropy.h>

#include <optional>

namespace adj {

// Means over the rows that `index` [K] selects; a row that stands there twice counts twice. Easily missed: an
// absent index means every row. Labels and indices are int32, or int64, which costs a conversion. Where one
// is out of range the CPU throws at once, and a GPU, whose step goes on, when the loss is read. Scalars; of
// bfloat16 logits in float32. Beside these the targets of bce_with_logits and mse_loss and the weights of
// cross_entropy are float32 or bfloat16.

namespace detail {

/// Targets or weights as the kernels take them beside `x`.
inline Tensor beside(const Var& x, const Tensor& given) {
  const bool narrow = given && given.dtype() == DType::bf16 && x.dtype() == DType::bf16;
  return narrow ? given.to(DType::f32) : given;
}

inline Tensor rows_of(const char* name, const Var& x, const Tensor& index) {
  return to_int32(name, "index", index, x.shape().dims() > 0 ? x.size(0) : 0);
}
inline Tensor classes_of(const char* name, const Var& x, const Tensor& label) {
  return to_int32(name, "label", label, x.shape().dims() > 1 ? x.size(1) : 0);
}

/// A loss of targets by its two kernels, in which those that are NaN do not count; x and target [N,T] or [N].
inline Var target_loss(const char* name, void (*forward)(const kernels::TargetLossArgs&),
                       void (*backward)(const kernels::TargetLossBackwardArgs&), const Var& x,
                       const Tensor& target, const Tensor& selected) {
  if (x.shape().dims() == 1 && target.dims() == 1)
    return target_loss(name, forward, backward, reshape(x, {x.size(0), 1}),
                       target.reshape({target.numel(), 1}), selected);
  const Tensor goal = beside(x, target);
  const OpScope scope(name, x, goal, selected);
  const Tensor index = rows_of(name, x, selected);
  const DType wide = wide_dtype(x.dtype());
  Tensor loss = Tensor::empty({}, wide, x.device()), total = Tensor::empty({}, wide, x.device());
  forward({.x = x.value(), .target = goal, .index = index, .total = total, .loss = loss});
  return record(name, loss, {x},
                [backward, x = Saved(x.value()), goal = Saved(goal), index = Saved(index), total](
                    Tensor dloss, Gradients& out) {
                  Tensor dx = Tensor::empty_like(x.get());
                  backward({.x = x.get(),
                            .target = goal.get(),
                            .index = index.get(),
                            .total = total,
                            .dloss = dloss,
                            .dx = dx});
                  out.add(0, dx);
                });
}

}  // namespace detail

/// Softmax cross-entropy of logits x [N,C] and labels [N], in one fused pass.
inline Var cross_entropy(const Var& x, const Tensor& label, const Tensor& index = {}) {
  constexpr const char* kOp = "cross_entropy";
  const Tensor classes = detail::classes_of(kOp, x, label);
  const OpScope scope(kOp, x, classes, index);
  const Tensor rows = detail::rows_of(kOp, x, index);
  Tensor loss = Tensor::empty({}, wide_dtype(x.dtype()), x.device());
  kernels::softmax_cross_entropy({.x = x.value(), .label = classes, .index = rows, .loss = loss});
  return record(
      kOp, loss, {x},
      [x = Saved(x.value()), label = Saved(classes), index = Saved(rows)](Tensor dloss, Gradients& out) {
        Tensor dx = Tensor::empty_like(x.get());
        kernels::softmax_cross_entropy_backward(
            {.x = x.get(), .label = label.get(), .index = index.get(), .dloss = dloss, .dx = dx});
        out.add(0, dx);
      });
}

/// The same where not all rows count alike.
struct CrossEntropyOptions {
  Tensor weight = {};                        ///< [C]: how much a row of each class counts; absent: 1
  std::optional<int32_t> ignore_index = {};  ///< rows with this label do not count, as -1 where it means none
};

/// cross_entropy(x, y, train, {.weight = w, .ignore_index = -1}): Σ w_i loss_i / Σ w_i over the selected rows
/// that are not ignored, as in PyTorch. Where there is none, or all weigh 0, the CPU throws; a GPU, which is
/// not asked in the middle of a step, leaves the loss and its gradient 0.
inline Var cross_entropy(const Var& x, const Tensor& given, const Tensor& selected,
                         const CrossEntropyOptions& options) {
  if (!options.weight && !options.ignore_index) return cross_entropy(x, given, selected);
  const OpScope scope("cross_entropy", x, given, selected);
  const Tensor label = detail::classes_of("cross_entropy", x, given),
               index = detail::rows_of("cross_entropy", x, selected);
  const int64_t ignored = options.ignore_index ? *options.ignore_index : kernels::kNothingIgnored;
  const DType wide = wide_dtype(x.dtype());
  Tensor loss = Tensor::empty({}, wide, x.device()), total = Tensor::empty({}, wide, x.device());
  const Tensor by_class = detail::beside(x, options.weight);
  kernels::weighted_cross_entropy({.x = x.value(),
                                   .label = label,
                                   .index = index,
                                   .weight = by_class,
                                   .ignored = ignored,
                                   .total = total,
                                   .loss = loss});
  return record("cross_entropy", loss, {x},
                [x = Saved(x.value()), label = Saved(label), index = Saved(index), weight = Saved(by_class),
                 ignored, total](Tensor dloss, Gradients& out) {
                  Tensor dx = Tensor::empty_like(x.get());
                  kernels::weighted_cross_entropy_backward({.x = x.get(),
                                                            .label = label.get(),
                                                            .index = index.get(),
                                                            .weight = weight.get(),
                                                            .ignored = ignored,
                                                            .total = total,
                                                            .dloss = dloss,
                                                            .dx = dx});
                  out.add(0, dx);
                });
}

/// Binary cross-entropy with logits, its mean over the selected rows and all columns where target is not NaN,
/// which is no label; x and target [N,T] or [N]. Where all are NaN the CPU throws; a GPU, which is not asked
/// in the middle of a step, leaves the loss and its gradient 0.
inline Var bce_with_logits(const Var& x, const Tensor& target, const Tensor& index = {}) {
  return detail::target_loss("bce_with_logits", kernels::bce_with_logits, kernels::bce_with_logits_backward,
                             x, target, index);
}

/// Squared error, likewise.
inline Var mse_loss(const Var& x, const Tensor& target, const Tensor& index = {}) {
  return detail::target_loss("mse_loss", kernels::mse_loss, kernels::mse_loss_backward, x, target, index);
}

}  // namespace adj
