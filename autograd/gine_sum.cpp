#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/detail/edge.h>
#include <adjoint/autograd/detail/edge_mask.h>
#include <adjoint/autograd/detail/halo.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/gine_sum.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/aggregate/gine_sum.h>

namespace adj {

Var gine_sum(const Relation& relation, const Var& x, const Var& e, const Var& w) {
  const OpScope scope("gine_sum", relation, x, e, w);
  if (relation.is_rank_part()) return gine_sum(relation.local_edges(), detail::halo_rows(relation, x), e, w);
  detail::check_side("gine_sum", "x", relation, x, relation.num_src(), 2, 2);
  ADJ_CHECK(e && e.shape().dims() == 2 && e.size(0) == relation.num_edges(),
            "gine_sum: e is {}, expected [{}, E]", e ? e.shape().str() : "absent", relation.num_edges());
  check_same_device("gine_sum", {x, e, w});
  if (const Var mask = detail::edge_mask("gine_sum", relation))
    return detail::reduce_masked(relation,
                                 relu(index_select(x, relation.edge_index().src) + (w ? matmul(e, w) : e)),
                                 mask, {Reduce::sum});
  Tensor y = Tensor::empty({relation.num_dst(), x.size(1)}, x.dtype(), x.device());
  const Tensor map = w.value_or_absent();
  kernels::gine_sum({.a = detail::by_target(relation), .x = x.value(), .e = e.value(), .w = map, .y = y});
  enum : size_t { kX, kE, kW };
  return record("gine_sum", y, {x, e, w},
                [relation, x = Saved(x.value()), e = Saved(e.value()), w = w ? Saved(map) : Saved()](
                    Tensor dy, Gradients& out) {
                  const DType accumulator = accumulator_dtype(dy.dtype());
                  const Tensor weight = w ? w.get() : Tensor();
                  const auto like = [&](const Tensor& t) {
                    return Tensor::empty(t.shape(), accumulator, t.device());
                  };
                  Tensor dx = Tensor::empty_like(x.get());
                  const Tensor de = out.wanted(kE) ? like(e.get()) : Tensor();
                  const Tensor dw = weight && out.wanted(kW) ? like(weight) : Tensor();
                  kernels::gine_sum_backward({.at = detail::by_source(relation),
                                              .dy = dy,
                                              .x = x.get(),
                                              .e = e.get(),
                                              .w = weight,
                                              .dx = dx,
                                              .de = de,
                                              .dw = dw});
                  if (out.wanted(kX)) out.add(kX, dx);
                  if (de) out.add(kE, de.to(dy.dtype()));
                  if (dw) out.add(kW, dw.to(dy.dtype()));
                });
}

}  // namespace adj
