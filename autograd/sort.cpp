#include <adjoint/autograd/detail/around_dim.h>
#include <adjoint/autograd/detail/transposed.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/sort.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/array/sort.h>

namespace adj {

namespace {

Sorted first_of_rows(const char* name, const Var& x, int64_t kept, int dim, bool descending) {
  const OpScope scope(name, x);
  const detail::AroundDim layout(name, x.shape(), dim);
  const int last = x.shape().dims() - 1;
  if (layout.dim != last) {
    const Sorted turned = first_of_rows(name, transpose(x, layout.dim, last), kept, last, descending);
    return {transpose(turned.values, layout.dim, last), detail::transposed(turned.indices, layout.dim, last)};
  }
  const int64_t rows = layout.outer, columns = layout.extent;
  Tensor indices = Tensor::empty({rows, kept}, DType::i32, x.device()),
         positions = Tensor::empty({rows * kept}, DType::i32, x.device());
  kernels::sort_rows({.x = x.value().reshape({rows, columns}),
                      .descending = descending,
                      .indices = indices,
                      .positions = positions});
  const Shape shape = x.shape().with(layout.dim, kept);
  return {reshape(index_select(reshape(x, {rows * columns}), positions), shape), indices.reshape(shape)};
}

}  // namespace

Sorted sort(const Var& x, int dim, bool descending) {
  return first_of_rows("sort", x, detail::AroundDim("sort", x.shape(), dim).extent, dim, descending);
}

Sorted topk(const Var& x, int64_t k, int dim, bool largest) {
  const int64_t extent = detail::AroundDim("topk", x.shape(), dim).extent;
  ADJ_CHECK(k >= 0 && k <= extent, "topk: {} of {} elements along dimension {} of {}", k, extent, dim,
            x.shape().str());
  return first_of_rows("topk", x, k, dim, largest);
}

}  // namespace adj
