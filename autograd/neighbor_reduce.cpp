#include <adjoint/autograd/detail/edge_mask.h>
#include <adjoint/autograd/detail/halo.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/neighbor_reduce.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/graph/relation.h>
#include <adjoint/kernels/aggregate/neighbor_backward.h>
#include <adjoint/kernels/aggregate/neighbor_reduce.h>
#include <adjoint/kernels/aggregate/spmm.h>

#include <span>
#include <vector>

namespace adj {

namespace {

// Saved state of the reductions for backward.
struct SavedReductions {
  std::vector<Reduce> reduce;
  Saved x, y, weight;
  Tensor mean, max_winner, min_winner;
};

// dx [num_src, F] from dy [num_dst, K F].
Tensor reductions_gradient(const Relation& relation, const SavedReductions& saved, const Tensor& dy) {
  const kernels::ReductionSet set("aggregate", saved.reduce);
  const int64_t width = dy.size(1) / set.count, sources = relation.num_src();
  const DType dtype = dy.dtype();
  Tensor dx;
  if (set.has_moments()) {
    const bool spread = set.has_spread();
    Tensor terms =
        Tensor::empty({dy.size(0), spread ? 2 * width : width}, accumulator_dtype(dtype), dy.device());
    kernels::moment_terms({.a = relation.csr(),
                           .reduce = saved.reduce,
                           .dy = dy,
                           .y = saved.y ? saved.y.get() : Tensor(),
                           .mean = saved.mean,
                           .terms = terms});
    Tensor sums = Tensor::empty({sources, terms.size(1)}, terms.dtype(), dy.device());
    kernels::spmm({.a = {relation.transposed(), {}, {}}, .x = terms, .y = sums});
    terms = {};
    if (spread) {
      dx = Tensor::empty({sources, width}, dtype, dy.device());
      const Tensor& x = saved.x.get();
      kernels::moments_gradient({.x = x.reshape({sources, width}), .sums = sums, .dx = dx});
    } else {
      dx = sums.to(dtype);
    }
  }
  for (Reduce reduce : {Reduce::max, Reduce::min}) {
    if (!set.has(reduce)) continue;
    const bool gathers =
        saved.weight ||
        kernels::minmax_backward_gathers(relation.num_dst(), relation.num_edges(), dtype, relation.device());
    const bool begun = static_cast<bool>(dx);
    if (!begun) dx = Tensor::empty({sources, width}, dtype, dy.device());
    kernels::neighbor_minmax_backward({.winner = reduce == Reduce::max ? saved.max_winner : saved.min_winner,
                                       .dy = dy,
                                       .part = set[reduce],
                                       .transposed = gathers ? &relation.transposed() : nullptr,
                                       .weight = saved.weight ? saved.weight.get() : Tensor(),
                                       .order = saved.weight ? relation.transposed_order() : Tensor(),
                                       .accumulate = begun,
                                       .dx = dx});
  }
  return dx;
}

// The gradient of the weights, [M] in the accumulator dtype, from dy [num_dst, F].
Tensor weights_gradient(const Relation& relation, const SavedReductions& saved, const Tensor& dy) {
  Tensor dw = Tensor::empty_like(saved.weight.get());
  const Tensor& x = saved.x.get();
  kernels::minmax_weight_gradient({.a = relation.coo(),
                                   .winner = saved.max_winner ? saved.max_winner : saved.min_winner,
                                   .dy = dy,
                                   .x = x.reshape({relation.num_src(), dy.size(1)}),
                                   .dw = dw});
  return dw;
}

}  // namespace

namespace detail {

Var reduce_neighbors(const char* name, const Relation& relation, const Var& x, std::vector<Reduce> reduce,
                     const Var& edge_weight) {
  const kernels::ReductionSet set(name, reduce);
  const Shape shape = x.shape();
  const int64_t width = shape.dims() == 3 ? shape[1] * shape[2] : shape[1], targets = relation.num_dst();
  const bool records = recording({x, edge_weight}), spread = set.has_spread();
  const auto winner = [&](Reduce reduction) {
    return records && set.has(reduction) ? Tensor::empty({targets, width}, DType::i32, x.device()) : Tensor();
  };
  SavedReductions saved;
  saved.max_winner = winner(Reduce::max);
  saved.min_winner = winner(Reduce::min);
  if (records && spread)
    saved.mean = Tensor::empty({targets, width}, accumulator_dtype(x.dtype()), x.device());
  const Tensor weight = edge_weight ? edge_weight.value().to(accumulator_dtype(x.dtype())) : Tensor();
  Tensor y = Tensor::empty({targets, set.count * width}, x.dtype(), x.device());
  kernels::neighbor_reduce({.a = relation.csr(),
                            .x = x.value().reshape({shape[0], width}),
                            .reduce = reduce,
                            .weight = weight,
                            .order = edge_weight ? relation.csr_order() : Tensor(),
                            .y = y,
                            .max_winner = saved.max_winner,
                            .min_winner = saved.min_winner,
                            .mean = saved.mean});
  if (records && (spread || (edge_weight && edge_weight.requires_grad()))) saved.x = Saved(x.value());
  if (records && edge_weight) saved.weight = Saved(weight);
  if (records && set.has(Reduce::std)) saved.y = Saved(y);
  saved.reduce = std::move(reduce);
  const Tensor value = shape.dims() == 3 ? y.reshape({targets, shape[1], shape[2]}) : y;
  const DType weights = edge_weight ? edge_weight.dtype() : x.dtype();
  enum : size_t { kX, kEdgeWeight };
  return record(name, value, {x, edge_weight}, [relation, shape, weights, saved](Tensor dy, Gradients& out) {
    const Tensor rows = dy.dims() == 3 ? dy.reshape({dy.size(0), dy.size(1) * dy.size(2)}) : dy;
    if (out.wanted(kX)) out.add(kX, reductions_gradient(relation, saved, rows).reshape(shape));
    if (out.wanted(kEdgeWeight)) out.add(kEdgeWeight, weights_gradient(relation, saved, rows).to(weights));
  });
}

}  // namespace detail

Var aggregate_all(const Relation& relation, const Var& x, const std::vector<Reduce>& reduce) {
  const OpScope scope("aggregate_all", relation, x);
  if (relation.is_rank_part())
    return aggregate_all(relation.local_edges(), detail::halo_rows(relation, x), reduce);
  ADJ_CHECK(x && x.shape().dims() == 2 && x.size(0) == relation.num_src(),
            "aggregate_all: x is {}, expected [N, F] with {} rows", x ? x.shape().str() : "absent",
            relation.num_src());
  ADJ_CHECK(x.device() == relation.device(), "aggregate_all: relation on {}, x on {}",
            relation.device().str(), x.device().str());
  if (const Var mask = detail::edge_mask("aggregate_all", relation))
    return detail::reduce_masked(relation, index_select(x, relation.edge_index().src), mask, reduce);
  return detail::reduce_neighbors("aggregate_all", relation, x, reduce);
}

}  // namespace adj
