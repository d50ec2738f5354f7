// The gradient of a gather is a product with the transposed selection matrix: its CSR has the output rows
// that chose row i as the entries of row i, in order. No scatter, no atomics.
#pragma once

#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/index/gather.h>
#include <adjoint/kernels/sparse/spmm.h>

#include <vector>

namespace adj {

/// [K,F]: rows index[k] of x[N,F]; `index` int32 [K], repeats allowed. Backward sums in index order.
inline Var gather_rows(const Var& x, const Tensor& index) {
  ADJ_CHECK(x.shape().dims() == 2, "gather_rows: expected [N, F], got {}", x.shape().str());
  Tensor y = Tensor::empty({index.numel(), x.size(1)}, x.dtype(), x.device());
  kernels::gather_rows({.x = x.value(), .index = index, .y = y});
  return record("gather_rows", y, {x}, [saved = Saved(index), shape = x.shape()](Tensor dy, Gradients& out) {
    const Tensor& chosen = saved.get();
    Csr selection;
    selection.rows = shape[0];
    selection.cols = chosen.numel();
    selection.offsets = Tensor::empty({shape[0] + 1}, DType::i64, dy.device());
    // Sorted by the chosen row alone, stably: the order is the list of outputs, grouped by what they copied.
    const Tensor same_column = Tensor::zeros({chosen.numel()}, DType::i32, dy.device());
    Tensor sorted_column = Tensor::empty_like(same_column);
    selection.indices = Tensor::empty_like(same_column);
    kernels::coo_to_csr({.row = chosen,
                         .col = same_column,
                         .cols = 1,
                         .offsets = selection.offsets,
                         .indices = sorted_column,
                         .order = selection.indices});
    Tensor dx = Tensor::empty(shape, dy.dtype(), dy.device());
    kernels::spmm({.a = {selection, {}, {}}, .x = dy, .y = dx});
    out.add(0, dx);
  });
}

/// [N, F0+F1+…]: the parts side by side.
inline Var concat_columns(const std::vector<Var>& parts) {
  ADJ_CHECK(!parts.empty(), "concat_columns: no parts");
  std::vector<Tensor> tensors;
  std::vector<Shape> shapes;
  int64_t width = 0;
  for (const Var& part : parts) {
    tensors.push_back(part.value());
    shapes.push_back(part.shape());
    width += part.size(1);
  }
  Tensor y = Tensor::empty({parts[0].size(0), width}, parts[0].dtype(), parts[0].device());
  kernels::concat_columns({.parts = tensors, .y = y});
  return record("concat_columns", y, parts, [shapes](Tensor dy, Gradients& out) {
    std::vector<Tensor> gradients;
    for (const Shape& shape : shapes) gradients.push_back(Tensor::empty(shape, dy.dtype(), dy.device()));
    kernels::split_columns({.y = dy, .parts = gradients});
    for (size_t i = 0; i < gradients.size(); ++i) out.add(i, gradients[i]);
  });
}

}  // namespace adj
