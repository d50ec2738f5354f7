#include <adjoint/autograd/detail/loss.h>
#include <adjoint/autograd/loss.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/core/convert.h>
#include <adjoint/kernels/loss/loss.h>

#include <optional>

namespace adj {

namespace {

// A loss with targets, by its two kernels; NaN targets do not count; x and target [N,T] or [N].
Var target_loss(const char* name, void (*forward)(const kernels::TargetLossArgs&),
                void (*backward)(const kernels::TargetLossBackwardArgs&), const Var& x, const Tensor& target,
                const Tensor& selected) {
  if (x.shape().dims() == 1 && target.dims() == 1)
    return target_loss(name, forward, backward, reshape(x, {x.size(0), 1}),
                       target.reshape({target.numel(), 1}), selected);
  const Tensor goal = detail::convert_for(x, target);
  const OpScope scope(name, x, goal, selected);
  const Tensor index = detail::rows_of(name, x, selected);
  const DType accumulator = accumulator_dtype(x.dtype());
  Tensor loss = Tensor::empty({}, accumulator, x.device()),
         total = Tensor::empty({}, accumulator, x.device());
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
                  out.add(dx);
                });
}

}  // namespace

Var cross_entropy(const Var& x, const Tensor& target, const Tensor& selected,
                  const CrossEntropyOptions& options) {
  const OpScope scope("cross_entropy", x, target, selected);
  const Tensor label = detail::classes_of("cross_entropy", x, target),
               index = detail::rows_of("cross_entropy", x, selected);
  const int64_t ignored = options.ignore_index ? *options.ignore_index : kernels::kNothingIgnored;
  const DType accumulator = accumulator_dtype(x.dtype());
  Tensor loss = Tensor::empty({}, accumulator, x.device()),
         total = Tensor::empty({}, accumulator, x.device());
  const Tensor by_class = detail::convert_for(x, options.weight);
  kernels::softmax_cross_entropy({.x = x.value(),
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
                  kernels::softmax_cross_entropy_backward({.x = x.get(),
                                                           .label = label.get(),
                                                           .index = index.get(),
                                                           .weight = weight.get(),
                                                           .ignored = ignored,
                                                           .total = total,
                                                           .dloss = dloss,
                                                           .dx = dx});
                  out.add(dx);
                });
}

Var cross_entropy(const Var& x, const Tensor& label, const Tensor& index) {
  return cross_entropy(x, label, index, CrossEntropyOptions{});
}

Var bce_with_logits(const Var& x, const Tensor& target, const Tensor& index) {
  return target_loss("bce_with_logits", kernels::bce_with_logits, kernels::bce_with_logits_backward, x,
                     target, index);
}

Var mse_loss(const Var& x, const Tensor& target, const Tensor& index) {
  return target_loss("mse_loss", kernels::mse_loss, kernels::mse_loss_backward, x, target, index);
}

}  // namespace adj
