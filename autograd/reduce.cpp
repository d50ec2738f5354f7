#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/detail/around_dim.h>
#include <adjoint/autograd/detail/broadcast.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj {

namespace {

Var scaled_sum(const char* name, const Var& x, double factor) {
  const OpScope scope(name, x);
  Tensor y = Tensor::empty({}, accumulator_dtype(x.dtype()), x.device());
  kernels::sum_all({.x = x.value(), .scale = factor, .y = y});
  return record(name, y, {x}, [factor, shape = x.shape(), dtype = x.dtype()](Tensor dy, Gradients& out) {
    Tensor dx = Tensor::full(shape, factor, dtype, dy.device());
    kernels::multiply_scalar({.a = dx, .s = dy, .y = dx});
    out.add(dx);
  });
}

// `shape` without dimension `dim`, or with extent 1 there.
Shape reduced_shape(const Shape& shape, int dim, bool keepdim) {
  if (keepdim) return shape.with(dim, 1);
  std::array<int64_t, Shape::kMaxDims> extents{};
  size_t dims = 0;
  for (int d = 0; d < shape.dims(); ++d)
    if (d != dim) extents[dims++] = shape[d];
  return Shape(std::span<const int64_t>(extents.data(), dims));
}

}  // namespace

Var sum(const Var& x) { return scaled_sum("sum", x, 1.0); }

Var mean(const Var& x) {
  ADJ_CHECK(x.value().numel() > 0, "mean: no elements in {}", x.shape().str());
  return scaled_sum("mean", x, 1.0 / static_cast<double>(x.value().numel()));
}

Var sum(const Var& x, int dim, bool keepdim) {
  const Shape shape = x.shape();
  const OpScope scope("sum", x);
  const detail::AroundDim layout("sum", shape, dim);
  const Tensor y = detail::sum_middle(x.value(), layout.outer, layout.extent, layout.inner);
  return record("sum", y.reshape(reduced_shape(shape, layout.dim, keepdim)), {x},
                [shape, layout](Tensor dy, Gradients& out) {
                  out.add(detail::expand_to(shape, dy.reshape(shape.with(layout.dim, 1))));
                });
}

Var mean(const Var& x, int dim, bool keepdim) {
  const detail::AroundDim layout("mean", x.shape(), dim);
  ADJ_CHECK(layout.extent > 0, "mean: no elements along dimension {} of {}", dim, x.shape().str());
  return scale(sum(x, dim, keepdim), 1.0 / static_cast<double>(layout.extent));
}

Maximum max(const Var& x, int dim, bool keepdim) {
  const Shape shape = x.shape();
  const OpScope scope("max", x);
  const detail::AroundDim layout("max", shape, dim);
  ADJ_CHECK(layout.extent > 0, "max: no elements along dimension {} of {}", dim, shape.str());
  Tensor y = Tensor::empty({layout.outer, layout.inner}, x.dtype(), x.device());
  Tensor winner = Tensor::empty({layout.outer, layout.inner}, DType::i32, x.device());
  kernels::max_dim(
      {.x = x.value().reshape({layout.outer, layout.extent, layout.inner}), .y = y, .winner = winner});
  const Shape reduced = reduced_shape(shape, layout.dim, keepdim);
  Var values = record(
      "max", y.reshape(reduced), {x}, [shape, layout, winner = Saved(winner)](Tensor dy, Gradients& out) {
        Tensor dx = Tensor::empty({layout.outer, layout.extent, layout.inner}, dy.dtype(), dy.device());
        kernels::max_dim_backward(
            {.winner = winner.get(), .dy = dy.reshape({layout.outer, layout.inner}), .dx = dx});
        out.add(dx.reshape(shape));
      });
  return {values, winner.reshape(reduced)};
}

}  // namespace adj
