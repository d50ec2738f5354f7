#include <adjoint/autograd/loss.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/loss.h>

namespace adj {

namespace {

using Forward = void (*)(const Tensor& x, const Tensor& target, const Tensor& index, Tensor& loss);
using BackwardKernel = void (*)(const Tensor& x, const Tensor& target, const Tensor& index,
                                const Tensor& dloss, Tensor& dx);

Var loss_of(const char* name, Forward forward, BackwardKernel backward, const Var& x, const Tensor& target,
            const Tensor& index) {
  Tensor loss = Tensor::empty({}, x.dtype(), x.device());
  forward(x.value(), target, index, loss);
  return record(name, loss, {x},
                [backward, x = Saved(x.value()), target = Saved(target), index = Saved(index)](
                    Tensor dloss, Gradients& out) {
                  Tensor dx = Tensor::empty_like(x.get());
                  backward(x.get(), target.get(), index.get(), dloss, dx);
                  out.add(0, dx);
                });
}

}  // namespace

Var cross_entropy(const Var& x, const Tensor& label, const Tensor& index) {
  return loss_of("cross_entropy", kernels::softmax_cross_entropy, kernels::softmax_cross_entropy_backward, x,
                 label, index);
}
Var bce_with_logits(const Var& x, const Tensor& target, const Tensor& index) {
  return loss_of("bce_with_logits", kernels::bce_with_logits, kernels::bce_with_logits_backward, x, target,
                 index);
}
Var mse_loss(const Var& x, const Tensor& target, const Tensor& index) {
  return loss_of("mse_loss", kernels::mse, kernels::mse_backward, x, target, index);
}

}  // namespace adj
