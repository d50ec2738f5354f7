#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/detail/ranks.h>
#include <adjoint/autograd/dropout.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/core/random.h>
#include <adjoint/graph/features.h>
#include <adjoint/kernels/elementwise/dropout.h>

namespace adj {

Var dropout(const Var& x, float p, bool training, Generator& generator) {
  const OpScope scope("dropout", x);
  const DropoutRule rule = dropout_rule(p);
  if (!training || rule.threshold == 0) return x;
  const RandomKey key = detail::key_of_rows(generator, x.shape());
  Tensor y = Tensor::empty_like(x.value());
  kernels::dropout({.x = x.value(), .key = key, .rule = rule, .y = y});
  return record("dropout", y, {x}, [key, rule](Tensor dy, Gradients& out) {
    Tensor dx = reuse(dy);
    kernels::dropout({.x = dy, .key = key, .rule = rule, .y = dx});
    out.add(dx);
  });
}

Var activate_dropout(Activation activation, const Var& x, float p, bool training, Generator& generator,
                     float slope) {
  const OpScope scope("activate_dropout", x);
  const DropoutRule rule = dropout_rule(p);
  if (!training || rule.threshold == 0) return activate(activation, x, slope);
  if (activation == Activation::none) return dropout(x, p, training, generator);
  const RandomKey key = detail::key_of_rows(generator, x.shape());
  Tensor y = Tensor::empty_like(x.value());
  kernels::dropout(
      {.activation = activation, .slope = slope, .x = x.value(), .key = key, .rule = rule, .y = y});
  const Saved saved(x.value());
  return record("activate_dropout", y, {x}, [activation, slope, key, rule, saved](Tensor dy, Gradients& out) {
    Tensor dx = reuse(dy);
    kernels::dropout_backward({.activation = activation,
                               .slope = slope,
                               .x = saved.get(),
                               .dy = dy,
                               .key = key,
                               .rule = rule,
                               .dx = dx});
    out.add(dx);
  });
}

Features dropout(const Features& x, float p, bool training, Generator& generator) {
  const OpScope scope("dropout", x);
  const DropoutRule rule = dropout_rule(p);
  if (!training || rule.threshold == 0) return x;
  if (x.is_dense()) return Features(dropout(Var(x.dense()), p, training, generator).value());
  if (x.is_quantized()) return x.dropped(detail::key_of_rows(generator, {x.rows(), x.cols()}), rule);
  const SparseMatrix& sparse = x.sparse();
  const Tensor old =
      sparse.values() ? sparse.values() : Tensor::full({sparse.entries()}, 1.0, DType::f32, sparse.device());
  Tensor kept = Tensor::empty_like(old);
  kernels::dropout({.x = old, .key = detail::key_of_rows(generator, old.shape()), .rule = rule, .y = kept});
  return sparse.with_values(kept);
}

}  // namespace adj
