#include <adjoint/autograd/detail/around_dim.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/core/convert.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/index/gather.h>

namespace adj {

Var index_select(const Var& x, const Tensor& which) {
  const OpScope scope("index_select", x, which);
  const Shape shape = x.shape();
  ADJ_CHECK(shape.dims() >= 1, "index_select: expected at least one dimension, got {}", x.value().str());
  const Tensor index = to_int32("index_select", "index", which, shape[0]);
  ADJ_CHECK(index && index.dims() == 1, "index_select: index is {}, expected int32 [K]", index.str());
  const int64_t width = detail::AroundDim("index_select", shape, 0).inner;
  Tensor y = Tensor::empty({index.numel(), width}, x.dtype(), x.device());
  kernels::gather_rows({.x = x.value().reshape({shape[0], width}), .index = index, .y = y});
  return record(
      "index_select", y.reshape(shape.with(0, index.numel())), {x},
      [saved = Saved(index), shape, width](Tensor dy, Gradients& out) {
        const Tensor& chosen = saved.get();
        Csr selection;
        selection.rows = shape[0];
        selection.cols = chosen.numel();
        selection.offsets = Tensor::empty({shape[0] + 1}, DType::i64, dy.device());
        // A stable sort by the chosen row gives the output rows grouped by their source.
        const Tensor same_column = Tensor::zeros({chosen.numel()}, DType::i32, dy.device());
        Tensor sorted_column = Tensor::empty_like(same_column);
        selection.indices = Tensor::empty_like(same_column);
        kernels::coo_to_csr({.row = chosen,
                             .col = same_column,
                             .cols = 1,
                             .offsets = selection.offsets,
                             .indices = sorted_column,
                             .order = selection.indices});
        Tensor dx = Tensor::empty({shape[0], width}, dy.dtype(), dy.device());
        kernels::spmm({.a = {selection, {}, {}}, .x = dy.reshape({chosen.numel(), width}), .y = dx});
        out.add(dx.reshape(shape));
      });
}

}  // namespace adj
