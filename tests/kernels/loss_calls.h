#pragma once

#include "cases.h"
#include <adjoint/kernels/loss/loss.h>

// The losses' kernels with their operands.
namespace adj::test {

enum class Loss { cross_entropy, bce, weighted_bce, mse };
inline constexpr Loss kLosses[] = {Loss::cross_entropy, Loss::bce, Loss::weighted_bce, Loss::mse};

/// The operands of a loss over the rows of an index, all rows if it is absent.
struct LossCall {
  Tensor x;
  DType accumulator = accumulator_dtype(x.dtype());
  Tensor label, target, index;
  Tensor weight = {};  ///< of classes, for cross entropy, like `ignored`
  Tensor positive;     ///< for weighted_bce
  int64_t ignored = kernels::kNothingIgnored;
  Tensor loss = scalar(NAN), total = scalar(NAN);

  /// Random numbers, labels, and targets of which a third each are 0, 1 and between them.
  LossCall(int64_t rows, int64_t columns, DType dtype, Device device)
      : x(random_tensor({rows, columns}, dtype, device)),
        label(random_ints(rows, 0, static_cast<int32_t>(columns), device)),
        target(random_tensor({rows, columns}, accumulator, device)),
        positive(random_ints(columns, 1, 40, device).to(accumulator)) {
    Numbers between = values(target);
    for (double& t : between) t = std::clamp(1.5 * t, -0.5, 0.5) + 0.5;
    target = tensor_of(between, {rows, columns}, accumulator, device);
  }

  LossCall to(Device device) const {
    LossCall call = *this;
    for (Tensor* t : {&call.x, &call.label, &call.target, &call.index, &call.weight, &call.positive,
                      &call.loss, &call.total})
      if (*t) *t = t->to(device).clone();
    return call;
  }
  Tensor weights_for(Loss which) const { return which == Loss::weighted_bce ? positive : Tensor(); }
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
    else if (which != Loss::mse)
      kernels::bce_with_logits({.x = x,
                                .target = target,
                                .index = index,
                                .positive = weights_for(which),
                                .total = total,
                                .loss = loss});
    else
      kernels::mse_loss({.x = x, .target = target, .index = index, .total = total, .loss = loss});
    return loss;
  }
  Tensor backward(Loss which, double gradient = 1.0) const {
    Tensor dx = Tensor::full(x.shape(), 9.0, x.dtype(), x.device()), over = x.clone();
    write_gradient(which, gradient, x, dx);
    write_gradient(which, gradient, over, over);
    CHECK(same_bits(over, dx));
    return dx;
  }
  /// `dx` may be `logits`.
  void write_gradient(Loss which, double gradient, const Tensor& logits, Tensor& dx) const {
    const Tensor dloss = scalar(gradient);
    if (which == Loss::cross_entropy)
      kernels::softmax_cross_entropy_backward({.x = logits,
                                               .label = label,
                                               .index = index,
                                               .weight = weight,
                                               .ignored = ignored,
                                               .total = total,
                                               .dloss = dloss,
                                               .dx = dx});
    else if (which != Loss::mse)
      kernels::bce_with_logits_backward({.x = logits,
                                         .target = target,
                                         .index = index,
                                         .positive = weights_for(which),
                                         .total = total,
                                         .dloss = dloss,
                                         .dx = dx});
    else
      kernels::mse_loss_backward(
          {.x = logits, .target = target, .index = index, .total = total, .dloss = dloss, .dx = dx});
  }
};

}  // namespace adj::test
