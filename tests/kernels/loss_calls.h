#pragma once

#include "cases.h"
#include <adjoint/kernels/loss/loss.h>

// The losses' kernels with their operands.
namespace adj::test {

enum class Loss { cross_entropy, bce, mse };
inline constexpr Loss kLosses[] = {Loss::cross_entropy, Loss::bce, Loss::mse};

/// The operands of a loss over the rows of an index, all rows if it is absent.
struct LossCall {
  Tensor x;
  DType accumulator = accumulator_dtype(x.dtype());
  Tensor label, target, index;
  Tensor weight = {};  ///< of classes, for cross entropy, like `ignored`
  int64_t ignored = kernels::kNothingIgnored;
  Tensor loss = scalar(NAN), total = scalar(NAN);

  /// Random numbers, labels, and targets that are 0 or 1.
  LossCall(int64_t rows, int64_t columns, DType dtype, Device device)
      : x(random_tensor({rows, columns}, dtype, device)),
        label(random_ints(rows, 0, static_cast<int32_t>(columns), device)),
        target(random_ints(rows * columns, 0, 2, device).to(accumulator).reshape({rows, columns})) {}

  LossCall to(Device device) const {
    LossCall call = *this;
    for (Tensor* t : {&call.x, &call.label, &call.target, &call.index, &call.weight, &call.loss, &call.total})
      if (*t) *t = t->to(device).clone();
    return call;
  }
  Tensor scalar(double value) const { return Tensor::full({}, value, accumulator, x.device()); }
  /// Writes `loss` and `total`.
  const Tensor& forward(Loss which) {
    if (which == Loss::cross_entropy)
      kernels::softmax_cross_entropy({.x = x,
                                      .label = label,
                                      .index = index,
                                      .weight = weight,
                                      .ignored = ignored,
                                      .total = total,
                                      .loss = loss});
    else if (which == Loss::bce)
      kernels::bce_with_logits({.x = x, .target = target, .index = index, .total = total, .loss = loss});
    else
      kernels::mse_loss({.x = x, .target = target, .index = index, .total = total, .loss = loss});
    return loss;
  }
  Tensor backward(Loss which, double gradient = 1.0) const {
    Tensor dx = Tensor::full(x.shape(), 9.0, x.dtype(), x.device());
    const Tensor dloss = scalar(gradient);
    if (which == Loss::cross_entropy)
      kernels::softmax_cross_entropy_backward({.x = x,
                                               .label = label,
                                               .index = index,
                                               .weight = weight,
                                               .ignored = ignored,
                                               .total = total,
                                               .dloss = dloss,
                                               .dx = dx});
    else if (which == Loss::bce)
      kernels::bce_with_logits_backward(
          {.x = x, .target = target, .index = index, .total = total, .dloss = dloss, .dx = dx});
    else
      kernels::mse_loss_backward(
          {.x = x, .target = target, .index = index, .total = total, .dloss = dloss, .dx = dx});
    return dx;
  }
};

}  // namespace adj::test
