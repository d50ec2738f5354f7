#include <adjoint/autograd/detail/edge.h>
#include <adjoint/autograd/detail/part_sums.h>
#include <adjoint/autograd/detail/rank_pairs.h>
#include <adjoint/autograd/detail/ranks.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/edge/edge.h>
#include <adjoint/kernels/tiles/sparse_product.h>

namespace adj::detail {

namespace {

/// [rows, ...] like x: the sums of rows of `x`, a matrix, with weights of the entries of `a`.
Tensor weighted_sums(const char* op, const Csr& a, const Tensor& weights, const Tensor& x,
                     const Shape& shape) {
  Tensor y = Tensor::empty(shape.with(0, a.rows), x.dtype(), x.device()), rows = as_matrix(y);
  kernels::sparse_product(op, {.a = {a, weights, {}}, .x = x, .y = rows});
  return y;
}

Tensor products(const char* op, const Csr& a, const Tensor& targets, const Tensor& sources, int64_t heads) {
  Tensor e = Tensor::empty({a.entries(), heads}, accumulator_dtype(targets.dtype()), targets.device());
  kernels::entry_products(op, {.a = {a, {}, {}}, .y = targets, .x = sources, .dw = e});
  return e;
}

}  // namespace

Var rank_aggregate(const RankTypedEdgesPtr& edges, const Var& v, const Var& w) {
  constexpr const char* kOp = "rank_aggregate";
  const Relation& relation = edges->sources.edges;
  const OpScope scope(kOp, relation, v, w);
  check_side(kOp, "v", relation, v, relation.num_src(), 3, 3);
  const Relation& local = relation.local_edges();
  check_of_edges(kOp, "w", local, w);
  const Tensor rows = relation.source_rows(as_matrix(v.value()));
  enum : size_t { kV, kW };
  return record(kOp, weighted_sums(kOp, local.csr(), w.value(), rows, v.shape()), {v, w},
                [edges, shape = v.shape(), heads = w.size(1), rows = Saved(rows), w = Saved(w.value())](
                    Tensor dy, Gradients& out) {
                  const Relation& part = edges->sources.edges;
                  if (out.wanted(kW))
                    out.add(kW, products(kOp, part.local_edges().csr(), as_matrix(dy), rows.get(), heads));
                  if (out.wanted(kV))
                    out.add(kV, weighted_sums(kOp, part.transposed(), edges->to_sources(w.get()),
                                              part.reversed().source_rows(as_matrix(dy)), shape));
                });
}

Var rank_edge_dot(const RankTypedEdgesPtr& edges, const Var& q, const Var& k) {
  constexpr const char* kOp = "rank_edge_dot";
  const Relation& relation = edges->sources.edges;
  const OpScope scope(kOp, relation, q, k);
  check_side(kOp, "q", relation, q, relation.num_dst(), 3, 3);
  check_side(kOp, "k", relation, k, relation.num_src(), 3, 3);
  const Tensor rows = relation.source_rows(as_matrix(k.value()));
  enum : size_t { kQ, kK };
  return record(
      kOp, products(kOp, relation.local_edges().csr(), as_matrix(q.value()), rows, q.size(1)), {q, k},
      [edges, q = Saved(q.value()), shape = k.shape(), rows = Saved(rows)](Tensor de, Gradients& out) {
        const Relation& part = edges->sources.edges;
        if (out.wanted(kQ))
          out.add(kQ, weighted_sums(kOp, part.local_edges().csr(), de, rows.get(), q.get().shape()));
        if (out.wanted(kK))
          out.add(kK, weighted_sums(kOp, part.transposed(), edges->to_sources(de),
                                    part.reversed().source_rows(as_matrix(q.get())), shape));
      });
}

Var rank_edge_add(const RankTypedEdgesPtr& edges, const Var& l, const Var& r) {
  constexpr const char* kOp = "rank_edge_add";
  const Relation &relation = edges->sources.edges, &links = edges->links;
  const OpScope scope(kOp, relation, l, r);
  check_side(kOp, "l", links, l, links.num_dst(), 2, 2);
  check_side(kOp, "r", relation, r, relation.num_src(), 2, 2);
  Tensor e = Tensor::empty(l.shape().with(0, links.num_edges()), accumulator_dtype(l.dtype()), l.device());
  kernels::edge_add({.a = by_target(links), .l = l.value(), .r = relation.source_rows(r.value()), .e = e});
  enum : size_t { kL, kR };
  return record(kOp, e, {l, r}, [edges, dtype = l.dtype()](Tensor de, Gradients& out) {
    const auto sum = [&](const CsrMatrix& a, const Tensor& terms) {
      Tensor y = Tensor::empty(terms.shape().with(0, a.csr.rows), dtype, terms.device());
      kernels::edge_sum({.a = a, .e = terms, .y = y});
      return y;
    };
    if (out.wanted(kL)) out.add(kL, sum(by_target(edges->links), de));
    if (out.wanted(kR)) out.add(kR, sum({edges->sources.edges.transposed(), {}, {}}, edges->to_sources(de)));
  });
}

Var summed_on_first(const Group& group, const Var& x) {
  if (group.size() == 1) return x;
  return record("summed_on_first", x.value(), {x}, [group](Tensor dy, Gradients& out) {
    Tensor sum = dy.clone();
    sum_over_ranks(group, sum);
    out.add(share_of_sum(group, sum));
  });
}

}  // namespace adj::detail
