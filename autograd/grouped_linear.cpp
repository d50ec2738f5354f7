#include <adjoint/autograd/detail/edge.h>
#include <adjoint/autograd/detail/part_sums.h>
#include <adjoint/autograd/grouped_linear.h>
#include <adjoint/autograd/segment.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/dense/grouped_gemm.h>
#include <adjoint/kernels/tiles/sparse_product.h>

#include <algorithm>

namespace adj {

namespace {

constexpr int64_t kPartNumbers = int64_t{1} << 24;  // of the sums by part that are held at once

/// Rows of some groups, and the borders of their parts, from 0.
struct GroupRange {
  int64_t begin, end;
  Tensor offsets;
};

/// Of groups [first, last).
GroupRange range_of(const detail::RowParts& parts, int64_t first, int64_t last) {
  const int64_t local = parts.local_parts();
  const auto lower = parts.host_offsets.begin() + first * local,
             upper = parts.host_offsets.begin() + last * local;
  if (*lower == 0) return {0, *upper, parts.offsets.rows(first * local, last * local + 1)};
  struct Borders {
    Tensor offsets;
  };
  const auto shifted = parts.cache.get<Borders>(first, [&] {
    std::vector<int64_t> borders;
    for (auto border = lower; border <= upper; ++border) borders.push_back(*border - *lower);
    return new Borders{Tensor::from(borders, parts.offsets.device())};
  });
  return {*lower, *upper, shifted->offsets};
}

/// The sum over all ranks of `of_parts(range, matrices)`, of so many parts of groups; `splits`: of some
/// groups at a time if there are many.
template <class Sums>
Tensor sum_by_parts(const detail::RowParts& parts, const Tensor& like, bool splits, Sums&& of_parts) {
  const int64_t local = parts.local_parts(), groups = (parts.offsets.numel() - 1) / local;
  const Shape rows{groups, like.numel() / groups};
  Tensor sum = Tensor::empty(rows, like.dtype(), like.device());
  const int64_t at_once =
      splits ? std::clamp<int64_t>(kPartNumbers / (parts.parts * rows[1]), 1, groups) : groups;
  for (int64_t first = 0; first < groups; first += at_once) {
    const int64_t last = std::min(first + at_once, groups), count = (last - first) * local;
    const Tensor sums = of_parts(range_of(parts, first, last), count).reshape({count, rows[1]});
    const Tensor all = detail::sum_parts(parts, sums.to(accumulator_dtype(like.dtype())));
    sum.rows(first, last).copy_(all.to(like.dtype()));
  }
  return detail::share_of_sum(parts.group, sum.reshape(like.shape()));
}

}  // namespace

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
        const detail::RowParts* parts = groups.parts.get();
        if (parts != nullptr && out.wanted(kW)) {
          const Tensor& all = w.get();
          const int64_t blocks = all.size(0) / (rows_of.numel() - 1);
          const bool splits = !groups.rows;
          out.add(
              kW, sum_by_parts(*parts, all, splits, [&](const GroupRange& range, int64_t sets) {
                const auto some = [&](const Tensor& of_rows) {
                  return splits && of_rows ? of_rows.rows(range.begin, range.end) : of_rows;
                };
                Tensor dw =
                    Tensor::empty({sets * blocks, all.size(1), all.size(2)}, all.dtype(), all.device());
                const Tensor dz = some(dy);
                kernels::grouped_weight_gradient({.x = chosen ? x.get() : some(x.get()),
                                                  .index = chosen ? some(chosen.csr().indices) : groups.rows,
                                                  .place = groups.rows,
                                                  .offsets = range.offsets,
                                                  .dz = dz,
                                                  .all_rows = parts->all_rows,
                                                  .dw = dw});
                return dw;
              }));
        } else if (out.wanted(kW)) {
          Tensor dw = Tensor::empty_like(w.get());
          kernels::grouped_weight_gradient({.x = x.get(),
                                            .index = chosen ? chosen.csr().indices : groups.rows,
                                            .place = groups.rows,
                                            .offsets = rows_of,
                                            .dz = dy,
                                            .dw = dw});
          out.add(kW, dw);
        }
        if (parts != nullptr && out.wanted(kBias)) {
          const Tensor like = Tensor::empty({rows_of.numel() - 1, dy.size(1)}, dy.dtype(), dy.device());
          out.add(kBias, sum_by_parts(*parts, like, false, [&](const GroupRange& range, int64_t sets) {
                    Csr members{sets, dy.size(0), range.offsets,
                                groups.rows ? groups.rows : detail::row_numbers(dy.size(0), dy.device())};
                    members.whole = CsrSizes{(rows_of.numel() - 1) * parts->parts, parts->all_rows};
                    Tensor sums = Tensor::empty({sets, dy.size(1)}, dy.dtype(), dy.device());
                    kernels::spmm({.a = {members, {}, {}}, .x = dy, .y = sums});
                    return sums;
                  }));
        } else if (out.wanted(kBias)) {
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
