#include <adjoint/autograd/detail/edge.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/self_loops.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/edge/edge_add.h>

namespace adj {

Var with_self_loops(const LoopedRelation& relation, const Var& x, const Var& loops) {
  const OpScope scope("with_self_loops", x, loops);
  if (!relation.origin) return x;
  check_same_device("with_self_loops", {x, loops});
  const int64_t edges = relation.became.numel() - relation.loops;
  ADJ_CHECK((x.shape().dims() == 1 || x.shape().dims() == 2) && x.size(0) == edges,
            "with_self_loops: x is {}, expected [{}] or [{}, E]", x.shape().str(), edges, edges);
  const Shape added = x.shape().with(0, relation.loops);
  ADJ_CHECK(!loops || loops.shape() == added, "with_self_loops: loops are {}, expected {}",
            loops.shape().str(), added.str());
  const Tensor of_loops = loops ? loops.value() : Tensor::zeros(added, x.dtype(), x.device());
  const Tensor y = detail::gather_edges(detail::concatenated(x.value(), of_loops), relation.origin);
  enum : size_t { kX, kLoops };
  return record("with_self_loops", y, {x, loops},
                [became = relation.became, complete = relation.complete, edges](Tensor dy, Gradients& out) {
                  if (!complete) {
                    dy = detail::concatenated(dy,
                                              Tensor::zeros(dy.shape().with(0, 1), dy.dtype(), dy.device()));
                  }
                  if (out.wanted(kX)) out.add(kX, detail::gather_edges(dy, became.rows(0, edges)));
                  if (out.wanted(kLoops))
                    out.add(kLoops, detail::gather_edges(dy, became.rows(edges, became.numel())));
                });
}

Var edge_sum(const Relation& relation, const Var& e) {
  const OpScope scope("edge_sum", relation, e);
  detail::check_of_edges("edge_sum", "e", relation, e);
  ADJ_CHECK(e.device() == relation.device(), "edge_sum: relation on {}, e on {}", relation.device().str(),
            e.device().str());
  const DType dtype = e.dtype(), accumulator = accumulator_dtype(dtype);
  Tensor y = Tensor::empty(e.shape().with(0, relation.num_dst()), accumulator, e.device());
  kernels::edge_sum({.a = detail::by_target(relation), .e = e.value().to(accumulator), .y = y});
  return record("edge_sum", y, {e}, [relation, dtype, shape = e.shape()](Tensor dy, Gradients& out) {
    Tensor de = Tensor::empty(shape, dy.dtype(), dy.device());
    const Tensor nothing = Tensor::zeros(shape.with(0, relation.num_src()), dy.dtype(), dy.device());
    kernels::edge_add({.a = detail::by_target(relation), .l = dy, .r = nothing, .e = de});
    out.add(de.to(dtype));
  });
}

}  // namespace adj
