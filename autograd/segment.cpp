#include <adjoint/autograd/neighbor_reduce.h>
#include <adjoint/autograd/segment.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/aggregate/coo_sums.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/index/select.h>

namespace adj {

namespace {

// CSR of the segments: row g holds the rows of x in segment g.
Csr selection_of(const char* op, const Var& x, const Tensor& offsets) {
  ADJ_CHECK(x.shape().dims() == 2, "{}: x is {}, expected [N, F]", op, x.shape().str());
  detail::check_segments(op, offsets, x.size(0), x.device());
  return {offsets.numel() - 1, x.size(0), offsets, detail::row_numbers(x.size(0), x.device())};
}

// CSR with one entry per row: row i's segment in `selection`.
Csr segment_of_rows(const Csr& selection, Device device) {
  const int64_t count = selection.cols;
  Csr spread{count, selection.rows, detail::row_numbers(count + 1, device).to(DType::i64),
             Tensor::empty({count}, DType::i32, device)};
  kernels::expand_rows({.a = selection, .row = spread.indices});
  return spread;
}

Var segment_reduce(const char* name, const Var& x, const Tensor& offsets, bool mean) {
  const OpScope scope(name, x, offsets);
  const Csr selection = selection_of(name, x, offsets);
  Tensor weight;
  if (mean) {
    weight = Tensor::empty({x.size(0)}, accumulator_dtype(x.dtype()), x.device());
    kernels::edge_mean({.a = {selection, {}, {}}, .y = weight});
  }
  Tensor y = Tensor::empty({selection.rows, x.size(1)}, x.dtype(), x.device());
  kernels::spmm({.a = {selection, weight, {}}, .x = x.value(), .y = y});
  return record(name, y, {x}, [selection, offsets = Saved(offsets), weight](Tensor dy, Gradients& out) {
    (void)offsets.get();  // shared with the selection: throws if modified
    const Csr spread = segment_of_rows(selection, dy.device());
    Tensor dx = Tensor::empty({selection.cols, dy.size(1)}, dy.dtype(), dy.device());
    kernels::spmm({.a = {spread, weight, {}}, .x = dy, .y = dx});
    out.add(dx);
  });
}

// Maximum or minimum: the segments are the targets of a relation whose sources are the rows.
Var segment_minmax(const char* name, const Var& x, const Tensor& offsets, Reduce reduce) {
  const OpScope scope(name, x, offsets);
  Csr selection = selection_of(name, x, offsets);
  selection.offsets = offsets.clone();
  return detail::reduce_neighbors(name, Relation::from_csr(selection), x, {reduce});
}

}  // namespace

namespace detail {

void check_segments(const char* op, const Tensor& offsets, int64_t rows, Device device) {
  ADJ_CHECK(offsets && offsets.dims() == 1 && offsets.numel() >= 1 && offsets.dtype() == DType::i64 &&
                offsets.device() == device,
            "{}: offsets are {}, expected int64 [G + 1] on {}", op, offsets.str(), device.str());
  if (offsets.is_cuda()) return;
  const int64_t* bounds = offsets.data<int64_t>();
  const int64_t last = offsets.numel() - 1;
  ADJ_CHECK(bounds[0] == 0, "{}: offsets begin at {}, expected 0", op, bounds[0]);
  ADJ_CHECK(bounds[last] == rows, "{}: offsets end at {}, expected {} rows", op, bounds[last], rows);
  for (int64_t g = 0; g < last; ++g)
    ADJ_CHECK(bounds[g] <= bounds[g + 1], "{}: offsets[{}] is {} and offsets[{}] is {}, expected ascending",
              op, g, bounds[g], g + 1, bounds[g + 1]);
}

Tensor row_numbers(int64_t rows, Device device) {
  Tensor numbers = Tensor::empty({rows}, DType::i32, device);
  kernels::iota({.y = numbers});
  return numbers;
}

}  // namespace detail

Var segment_sum(const Var& x, const Tensor& offsets) {
  return segment_reduce("segment_sum", x, offsets, false);
}

Var segment_mean(const Var& x, const Tensor& offsets) {
  return segment_reduce("segment_mean", x, offsets, true);
}

Var segment_expand(const Var& x, const Tensor& offsets, int64_t rows) {
  const OpScope scope("segment_expand", x, offsets);
  ADJ_CHECK(x.shape().dims() == 2, "segment_expand: x is {}, expected [G, F]", x.shape().str());
  detail::check_segments("segment_expand", offsets, rows, x.device());
  ADJ_CHECK(x.size(0) + 1 == offsets.numel(), "segment_expand: x is {} for {} segments", x.shape().str(),
            offsets.numel() - 1);
  const Csr selection{x.size(0), rows, offsets, detail::row_numbers(rows, x.device())};
  const Csr spread = segment_of_rows(selection, x.device());
  Tensor y = Tensor::empty({rows, x.size(1)}, x.dtype(), x.device());
  kernels::spmm({.a = {spread, {}, {}}, .x = x.value(), .y = y});
  return record("segment_expand", y, {x}, [selection, offsets = Saved(offsets)](Tensor dy, Gradients& out) {
    (void)offsets.get();  // shared with the selection: throws if modified
    Tensor dx = Tensor::empty({selection.rows, dy.size(1)}, dy.dtype(), dy.device());
    kernels::spmm({.a = {selection, {}, {}}, .x = dy, .y = dx});
    out.add(dx);
  });
}

Var segment_max(const Var& x, const Tensor& offsets) {
  return segment_minmax("segment_max", x, offsets, Reduce::max);
}
Var segment_min(const Var& x, const Tensor& offsets) {
  return segment_minmax("segment_min", x, offsets, Reduce::min);
}

}  // namespace adj
