#include <adjoint/autograd/detail/around_dim.h>
#include <adjoint/autograd/detail/transposed.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/array/swap_dimensions.h>

#include <utility>

namespace adj {

Tensor detail::transposed(const Tensor& x, int first, int second) {
  const Shape shape = x.shape();
  AroundDim a("transpose", shape, first), b("transpose", shape, second);
  if (a.dim > b.dim) std::swap(a, b);
  if (a.dim == b.dim) return x;
  int64_t middle = 1;
  for (int d = a.dim + 1; d < b.dim; ++d) middle *= shape[d];
  Tensor y = Tensor::empty(shape.with(a.dim, b.extent).with(b.dim, a.extent), x.dtype(), x.device());
  kernels::swap_dimensions({.x = x, .extents = {a.outer, a.extent, middle, b.extent, b.inner}, .y = y});
  return y;
}

Var transpose(const Var& x, int first, int second) {
  const OpScope scope("transpose", x);
  return record(
      "transpose", detail::transposed(x.value(), first, second), {x},
      [first, second](Tensor dy, Gradients& out) { out.add(detail::transposed(dy, first, second)); });
}

}  // namespace adj
