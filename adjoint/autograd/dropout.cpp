#include <adjoint/autograd/dropout.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/dropout.h>

namespace adj {

Var dropout(const Var& x, float p, bool training, Generator& generator) {
  const DropoutRule rule = DropoutRule::of(p);
  if (!training || rule.threshold == 0) return x;
  const RandomKey key = generator.next();
  if (x.is_sparse()) {
    const SparseMatrix& sparse = x.sparse();
    const Tensor old = sparse.values() ? sparse.values()
                                       : Tensor::full({sparse.entries()}, 1.0, DType::f32, sparse.device());
    Tensor kept = Tensor::empty_like(old);
    kernels::dropout(old, key, rule, kept);
    return sparse.with_values(kept);
  }
  Tensor y = Tensor::empty_like(x.value());
  kernels::dropout(x.value(), key, rule, y);
  return record("dropout", y, {x}, [key, rule](Tensor dy, Gradients& out) {
    Tensor dx = reuse(dy);
    kernels::dropout(dy, key, rule, dx);
    out.add(0, dx);
  });
}

}  // namespace adj
