#include <adjoint/autograd/softmax.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/reduce/softmax.h>

namespace adj {

namespace {

Var softmax_of(const char* name, const Var& x, bool log) {
  const OpScope scope(name, x);
  const Shape shape = x.shape();
  ADJ_CHECK(shape.dims() >= 1, "{}: expected at least one dimension, got {}", name, x.value().str());
  const int64_t width = shape[-1], rows = width == 0 ? 0 : shape.numel() / width;
  Tensor y = Tensor::empty({rows, width}, x.dtype(), x.device());
  kernels::softmax({.log = log, .x = x.value().reshape({rows, width}), .y = y});
  return record(name, y.reshape(shape), {x}, [log, shape, y = Saved(y)](Tensor dy, Gradients& out) {
    dy = dy.reshape(y.get().shape());
    Tensor dx = reuse(dy);
    kernels::softmax_backward({.log = log, .y = y.get(), .dy = dy, .dx = dx});
    out.add(dx.reshape(shape));
  });
}

}  // namespace

Var softmax(const Var& x) { return softmax_of("softmax", x, false); }
Var log_softmax(const Var& x) { return softmax_of("log_softmax", x, true); }

}  // namespace adj
