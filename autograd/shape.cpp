#include <adjoint/autograd/detail/around_dim.h>
#include <adjoint/autograd/detail/epilogue.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/core/convert.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/index/gather.h>
#include <adjoint/kernels/index/select.h>

#include <vector>

namespace adj {

Var reshape(const Var& x, std::initializer_list<int64_t> extents) {
  return reshape(x, x.value().reshape(extents).shape());
}
Var reshape(const Var& x, const Shape& shape) {
  return record("reshape", x.value().reshape(shape), {x},
                [input_shape = x.shape()](Tensor dy, Gradients& out) { out.add(dy.reshape(input_shape)); });
}

Var narrow(const Var& x, int dim, int64_t begin, int64_t length) {
  const OpScope scope("narrow", x);
  const detail::AroundDim layout("narrow", x.shape(), dim);
  ADJ_CHECK(begin >= 0 && length >= 0 && begin + length <= layout.extent,
            "narrow: [{}, {}) of dimension {} of {}", begin, begin + length, dim, x.shape().str());
  Tensor y;
  if (layout.dim == 0) {
    y = x.value().rows(begin, begin + length);
  } else {
    y = Tensor::empty({layout.outer, length * layout.inner}, x.dtype(), x.device());
    kernels::slice_columns({.x = x.value().reshape({layout.outer, layout.extent * layout.inner}),
                            .begin = begin * layout.inner,
                            .y = y});
    y = y.reshape(x.shape().with(layout.dim, length));
  }
  return record("narrow", y, {x}, [layout, begin, length, shape = x.shape()](Tensor dy, Gradients& out) {
    // A block's targets are its first sources, whose gradient as neighbours is there already.
    const Tensor begun = layout.dim == 0 ? detail::FusedGradients::access(out).begun(0, false) : Tensor();
    if (begun) {
      Tensor sum = begun.rows(begin, begin + length);
      return kernels::linear_combination({.a = sum, .beta = 1.0, .b = dy, .y = sum});
    }
    Tensor dx = Tensor::empty({layout.outer, layout.extent * layout.inner}, dy.dtype(), dy.device());
    kernels::pad_columns(
        {.x = dy.reshape({layout.outer, length * layout.inner}), .begin = begin * layout.inner, .y = dx});
    out.add(dx.reshape(shape));
  });
}

Var cat(const std::vector<Var>& parts, int dim) {
  const OpScope scope("cat", parts);
  ADJ_CHECK(!parts.empty(), "cat: no parts");
  const Shape first = parts[0].shape();
  const detail::AroundDim layout("cat", first, dim);
  std::vector<Tensor> tensors;
  std::vector<Shape> shapes;
  int64_t extent = 0;
  for (const Var& part : parts) {
    const Shape shape = part.shape();
    ADJ_CHECK(shape.dims() == first.dims() && shape.with(layout.dim, layout.extent) == first,
              "cat: parts {} and {} differ in another dimension than {}", first.str(), shape.str(), dim);
    tensors.push_back(part.value().reshape({layout.outer, shape[layout.dim] * layout.inner}));
    shapes.push_back(shape);
    extent += shape[layout.dim];
  }
  Tensor y = Tensor::empty({layout.outer, extent * layout.inner}, parts[0].dtype(), parts[0].device());
  kernels::concat_columns({.parts = tensors, .y = y});
  return record(
      "cat", y.reshape(first.with(layout.dim, extent)), parts,
      [layout, shapes, extent](Tensor dy, Gradients& out) {
        std::vector<Tensor> gradients;
        for (const Shape& shape : shapes)
          gradients.push_back(
              Tensor::empty({layout.outer, shape[layout.dim] * layout.inner}, dy.dtype(), dy.device()));
        kernels::split_columns({.y = dy.reshape({layout.outer, extent * layout.inner}), .parts = gradients});
        for (size_t i = 0; i < gradients.size(); ++i) out.add(i, gradients[i].reshape(shapes[i]));
      });
}

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

Var interleave_rows(const std::vector<Var>& parts, const Tensor& order) {
  const OpScope scope("interleave_rows", parts, order);
  ADJ_CHECK(!parts.empty() && parts.front().shape().dims() == 2, "interleave_rows: expected parts [N, F]");
  const Tensor& first = parts.front().value();
  std::vector<Tensor> rows;
  std::vector<int64_t> bounds{0};
  for (const Var& part : parts) {
    ADJ_CHECK(part.shape() == first.shape().with(0, part.size(0)) && part.dtype() == first.dtype() &&
                  part.device() == first.device(),
              "interleave_rows: parts {} and {}, expected one width", first.str(), part.value().str());
    rows.push_back(part.value());
    bounds.push_back(bounds.back() + part.size(0));
  }
  ADJ_CHECK(order && order.dtype() == DType::i32 && order.shape() == Shape{bounds.back()} &&
                order.device() == first.device(),
            "interleave_rows: order is {}, expected int32 [{}] on {}", order.str(), bounds.back(),
            first.device().str());
  if (rows.size() > kernels::GatherPartsArgs::kMost) {
    const NoGrad no_grad;
    rows = {cat(parts, 0).value()};
  }
  Tensor y = Tensor::empty(first.shape().with(0, bounds.back()), first.dtype(), first.device());
  kernels::gather_parts({.parts = rows, .index = order, .y = y});
  return record("interleave_rows", y, parts, [order = Saved(order), bounds](Tensor dy, Gradients& out) {
    const Tensor place = kernels::inverse_of(order.get(), dy.size(0));
    for (size_t p = 0; p + 1 < bounds.size(); ++p) {
      if (!out.wanted(p)) continue;
      Tensor dx = Tensor::empty(dy.shape().with(0, bounds[p + 1] - bounds[p]), dy.dtype(), dy.device());
      kernels::gather_rows({.x = dy, .index = place.rows(bounds[p], bounds[p + 1]), .y = dx});
      out.add(p, dx);
    }
  });
}

}  // namespace adj
