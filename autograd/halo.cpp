#include <adjoint/autograd/detail/edge.h>
#include <adjoint/autograd/detail/halo.h>
#include <adjoint/autograd/tape.h>

namespace adj::detail {

namespace {
Tensor as_rows(const Tensor& x) { return x.dims() == 1 ? x.reshape({x.numel(), 1}) : as_matrix(x); }
}  // namespace

Var halo_rows(const Relation& relation, const Var& x) {
  const OpScope scope("halo_rows", relation, x);
  ADJ_CHECK(x && x.size(0) == relation.num_src(), "halo_rows: x is {}, expected the {} rows of the rank",
            x ? x.shape().str() : "absent", relation.num_src());
  const Tensor rows = relation.source_rows(as_rows(x.value()));
  const Shape shape = x.shape();
  return record("halo_rows", rows.reshape(shape.with(0, rows.size(0))), {x},
                [relation, shape](Tensor dy, Gradients& out) {
                  out.add(relation.sum_source_rows(as_rows(dy)).reshape(shape));
                });
}

Var sum_halo_rows(const Relation& relation, const Var& y) {
  const OpScope scope("sum_halo_rows", relation, y);
  const Shape all = y.shape();
  const Tensor sums = relation.sum_source_rows(as_rows(y.value()));
  return record("sum_halo_rows", sums.reshape(all.with(0, sums.size(0))), {y},
                [relation, all](Tensor dy, Gradients& out) {
                  out.add(relation.source_rows(as_rows(dy)).reshape(all));
                });
}

}  // namespace adj::detail
