#pragma once

#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/loss/loss.h>

namespace adj {

// Means over the rows that `index` (int32 [K], distinct) selects, or over all rows without it. Scalars; of
// bfloat16 logits in float32, as are the targets of bce_with_logits and mse_loss.

namespace detail {

/// Forward and Backward are calls of the loss's two kernels; saved are the logits, the targets and the index.
template <class Forward, class Backward>
Var loss_of(const char* name, const Var& x, const Tensor& target, const Tensor& index, Forward forward,
            Backward backward) {
  Tensor loss = Tensor::empty({}, wide_dtype(x.dtype()), x.device());
  forward(loss);
  return record(name, loss, {x},
                [backward, x = Saved(x.value()), target = Saved(target), index = Saved(index)](
                    Tensor dloss, Gradients& out) {
                  Tensor dx = Tensor::empty_like(x.get());
                  backward(x.get(), target.get(), index.get(), dloss, dx);
                  out.add(0, dx);
                });
}

}  // namespace detail

/// Softmax cross-entropy of logits x [N,C] and labels int32 [N], in one fused pass.
inline Var cross_entropy(const Var& x, const Tensor& label, const Tensor& index = {}) {
  return detail::loss_of(
      "cross_entropy", x, label, index,
      [&](Tensor& loss) {
        kernels::softmax_cross_entropy({.x = x.value(), .label = label, .index = index, .loss = loss});
      },
      [](const Tensor& in, const Tensor& of, const Tensor& rows, const Tensor& dloss, Tensor& dx) {
        kernels::softmax_cross_entropy_backward(
            {.x = in, .label = of, .index = rows, .dloss = dloss, .dx = dx});
      });
}

/// Binary cross-entropy with logits, x and target [N,T].
inline Var bce_with_logits(const Var& x, const Tensor& target, const Tensor& index = {}) {
  return detail::loss_of(
      "bce_with_logits", x, target, index,
      [&](Tensor& loss) {
        kernels::bce_with_logits({.x = x.value(), .target = target, .index = index, .loss = loss});
      },
      [](const Tensor& in, const Tensor& of, const Tensor& rows, const Tensor& dloss, Tensor& dx) {
        kernels::bce_with_logits_backward({.x = in, .target = of, .index = rows, .dloss = dloss, .dx = dx});
      });
}

/// Squared error, x and target [N,T].
inline Var mse_loss(const Var& x, const Tensor& target, const Tensor& index = {}) {
  return detail::loss_of(
      "mse_loss", x, target, index,
      [&](Tensor& loss) { kernels::mse({.x = x.value(), .target = target, .index = index, .loss = loss}); },
      [](const Tensor& in, const Tensor& of, const Tensor& rows, const Tensor& dloss, Tensor& dx) {
        kernels::mse_backward({.x = in, .target = of, .index = rows, .dloss = dloss, .dx = dx});
      });
}

}  // namespace adj
