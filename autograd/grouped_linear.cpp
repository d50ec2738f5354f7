#include <adjoint/autograd/detail/edge.h>
#include <adjoint/autograd/grouped_linear.h>
#include <adjoint/autograd/segment.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/dense/grouped_gemm.h>
#include <adjoint/kernels/tiles/sparse_product.h>

namespace adj {

Var grouped_linear(const Var& x, const Var& w, const RowGroups& groups, const Var& bias) {
  const OpScope scope("grouped_linear", x, w, bias);
  check_same_device("grouped_linear", {x, w, bias});
  const Relation& picks = groups.picks;
  ADJ_CHECK(x.shape().dims() == 2 && w.shape().dims() == 3, "grouped_linear: x is {}, w is {}, expected {}",
            x.shape().str(), w.shape().str(), "[N, B in] and [G B, in, out]");
  if (picks) {
    ADJ_CHECK(picks.num_src() == x.size(0) && picks.num_edges() == picks.num_dst(),
              "grouped_linear: x is {}, rows are picked by {} edges from {} to {}, expected one of each",
              x.shape().str(), picks.num_edges(), picks.num_src(), picks.num_dst());
  }
  const int64_t rows = picks ? picks.num_dst() : x.size(0);
  detail::check_segments("grouped_linear", groups.offsets, rows, x.device());
  const int64_t count = std::max<int64_t>(1, groups.offsets.numel() - 1);
  Tensor y = Tensor::empty({rows, w.size(0) / count * w.size(2)}, x.dtype(), x.device());
  kernels::grouped_gemm({.x = x.value(),
                         .index = picks ? picks.csr().indices : groups.rows,
                         .place = groups.rows,
                         .offsets = groups.offsets,
                         .b = w.value(),
                         .bias = bias.value_or_absent(),
                         .c = y});
  enum : size_t { kX, kW, kBias };
  return record(
      "grouped_linear", y, {x, w, bias},
      [groups, offsets = Saved(groups.offsets), x = Saved(x.value()), w = Saved(w.value())](Tensor dy,
                                                                                            Gradients& out) {
        const Relation& chosen = groups.picks;
        const Tensor& rows_of = offsets.get();
        if (out.wanted(kW)) {
          Tensor dw = Tensor::empty_like(w.get());
          kernels::grouped_weight_gradient({.x = x.get(),
                                            .index = chosen ? chosen.csr().indices : groups.rows,
                                            .place = groups.rows,
                                            .offsets = rows_of,
                                            .dz = dy,
                                            .dw = dw});
          out.add(kW, dw);
        }
        if (out.wanted(kBias)) {
          const Csr members{rows_of.numel() - 1, dy.size(0), rows_of,
                            groups.rows ? groups.rows : detail::row_numbers(dy.size(0), dy.device())};
          Tensor dbias = Tensor::empty({members.rows, dy.size(1)}, dy.dtype(), dy.device());
          kernels::spmm({.a = {members, {}, {}}, .x = dy, .y = dbias});
          out.add(kBias, dbias);
        }
        if (!out.wanted(kX)) return;
        Tensor by_row = Tensor::empty({dy.size(0), x.get().size(1)}, dy.dtype(), dy.device());
        kernels::grouped_gemm({.x = dy,
                               .index = groups.rows,
                               .place = chosen ? kernels::kAbsent : groups.rows,
                               .offsets = rows_of,
                               .b = w.get(),
                               .trans_b = kernels::Transpose::yes,
                               .c = by_row});
        if (!chosen) return out.add(kX, by_row);
        Tensor dx = Tensor::empty_like(x.get());
        kernels::sparse_product("grouped_linear", {.a = detail::by_source(chosen), .x = by_row, .y = dx});
        out.add(kX, dx);
      });
}

Var bmm(const Var& a, const Var& b) {
  const OpScope scope("bmm", a, b);
  const Shape left = a.shape(), right = b.shape();
  ADJ_CHECK(left.dims() == 3 && right.dims() == 3 && left[0] == right[0] && left[2] == right[1],
            "bmm: matrices {} and {}, expected [K, N, in] and [K, in, out]", left.str(), right.str());
  if (left[0] == 0) return Var(Tensor::empty(left.with(2, right[2]), a.dtype(), a.device()));
  std::vector<int64_t> offsets;
  for (int64_t k = 0; k <= left[0]; ++k) offsets.push_back(k * left[1]);
  const Var y =
      grouped_linear(reshape(a, Shape{left[0] * left[1], left[2]}), b, {Tensor::from(offsets, a.device())});
  return reshape(y, Shape{left[0], left[1], right[2]});
}

}  // namespace adj
