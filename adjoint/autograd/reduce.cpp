#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/elementwise.h>
#include <adjoint/kernels/reduce.h>

namespace adj {

namespace {

Tensor ones(Shape shape, const Tensor& like) { return Tensor::full(shape, 1.0, like.dtype(), like.device()); }

Var scaled_sum(const char* name, const Var& x, double factor) {
  Tensor y = Tensor::empty({}, x.dtype(), x.device());
  kernels::sum_all(x.value(), factor, y);
  return record(name, y, {x}, [factor, shape = x.shape()](Tensor dy, Gradients& out) {
    Tensor dx = Tensor::full(shape, factor, dy.dtype(), dy.device());
    kernels::multiply_scalar(dx, dy, dx);
    out.add(0, dx);
  });
}

}  // namespace

Var sum(const Var& x) { return scaled_sum("sum", x, 1.0); }

Var mean(const Var& x) {
  ADJ_CHECK(x.value().numel() > 0, "mean: no elements in {}", x.shape().str());
  return scaled_sum("mean", x, 1.0 / static_cast<double>(x.value().numel()));
}

Var sum_rows(const Var& x) {
  Tensor y = Tensor::empty({x.size(1)}, x.dtype(), x.device());
  kernels::sum_rows(x.value(), y);
  return record("sum_rows", y, {x}, [shape = x.shape()](Tensor dy, Gradients& out) {
    Tensor dx = Tensor::zeros(shape, dy.dtype(), dy.device());
    kernels::add_bias(dx, dy, dx);
    out.add(0, dx);
  });
}

Var sum_columns(const Var& x) {
  Tensor y = Tensor::empty({x.size(0)}, x.dtype(), x.device());
  kernels::sum_columns(x.value(), y);
  return record("sum_columns", y, {x}, [shape = x.shape()](Tensor dy, Gradients& out) {
    Tensor dx = ones(shape, dy);
    kernels::scale_rows(dx, dy, dx);
    out.add(0, dx);
  });
}

}  // namespace adj
