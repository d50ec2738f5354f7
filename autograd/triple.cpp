#include <adjoint/autograd/tape.h>
#include <adjoint/autograd/triple.h>
#include <adjoint/kernels/triple/losses.h>
#include <adjoint/kernels/triple/power_sum.h>
#include <adjoint/kernels/triple/queries.h>
#include <adjoint/kernels/triple/scores.h>

namespace adj {

Var triple_queries(TripleModel model, const Var& x, const Var& relation, int64_t inverse) {
  const OpScope scope("triple_queries", x, relation);
  Tensor q = Tensor::empty_like(x.value());
  kernels::triple_queries(
      {.model = model, .x = x.value(), .relation = relation.value(), .inverse = inverse, .q = q});
  return record(
      "triple_queries", q, {x, relation},
      [model, x = Saved(x.value()), relation = Saved(relation.value()), inverse](Tensor dq, Gradients& out) {
        Tensor dx = Tensor::empty_like(x.get()), drelation = Tensor::empty_like(relation.get());
        kernels::triple_queries_backward({.model = model,
                                          .x = x.get(),
                                          .relation = relation.get(),
                                          .inverse = inverse,
                                          .dq = dq,
                                          .dx = dx,
                                          .drelation = drelation});
        out.add(0, dx);
        out.add(1, drelation);
      });
}

Var paired_scores(TripleScore score, const Var& q, const Var& t, int64_t shift) {
  const OpScope scope("paired_scores", q, t);
  Tensor y = Tensor::empty({q.size(0)}, q.dtype(), q.device());
  kernels::paired_scores({.score = score, .q = q.value(), .t = t.value(), .shift = shift, .y = y});
  return record("paired_scores", y, {q, t},
                [score, q = Saved(q.value()), t = Saved(t.value()), shift, y](Tensor dy, Gradients& out) {
                  Tensor dq = Tensor::empty_like(q.get()), dt = Tensor::empty_like(t.get());
                  kernels::paired_scores_backward({.score = score,
                                                   .q = q.get(),
                                                   .t = t.get(),
                                                   .shift = shift,
                                                   .y = y,
                                                   .dy = dy,
                                                   .dq = dq,
                                                   .dt = dt});
                  out.add(0, dq);
                  out.add(1, dt);
                });
}

namespace {

/// Gradients of scores y [Q,K]: of the queries, added to those before if `accumulate`, and of the entities.
/// Absent ones are not wanted.
void backward_scores(TripleScore score, const Tensor& q, const Tensor& t, const Tensor& y, const Tensor& dy,
                     bool accumulate, Tensor& dq, Tensor& dt) {
  using kernels::Transpose;
  if (score == TripleScore::dot) {
    if (dq) kernels::gemm({.a = dy, .b = t, .accumulate = accumulate, .c = dq});
    if (dt) kernels::gemm({.a = dy, .trans_a = Transpose::yes, .b = q, .c = dt});
    return;
  }
  if (dq)
    kernels::entity_distances_backward({.score = score,
                                        .x = q,
                                        .other = t,
                                        .turned = false,
                                        .y = y,
                                        .dy = dy,
                                        .accumulate = accumulate,
                                        .dx = dq});
  if (dt)
    kernels::entity_distances_backward({.score = score,
                                        .x = t,
                                        .other = q,
                                        .turned = true,
                                        .y = y,
                                        .dy = dy,
                                        .accumulate = false,
                                        .dx = dt});
}

/// Entities of a chunk: their scores stay in a cache, L2 on a GPU.
int64_t chunk_of(int64_t queries, Device device) {
  const int64_t numbers = int64_t{1} << (device.is_cuda() ? 22 : 20);
  return std::max<int64_t>(256, numbers / std::max<int64_t>(1, queries) / 64 * 64);
}

}  // namespace

Var entity_scores(TripleScore score, const Var& q, const Var& t) {
  const OpScope scope("entity_scores", q, t);
  Tensor y = Tensor::empty({q.size(0), t.size(0)}, q.dtype(), q.device());
  kernels::score_entities(score, q.value(), t.value(), y);
  return record("entity_scores", y, {q, t},
                [score, q = Saved(q.value()), t = Saved(t.value()), y](Tensor dy, Gradients& out) {
                  Tensor dq = out.wanted(0) ? Tensor::empty_like(q.get()) : Tensor(),
                         dt = out.wanted(1) ? Tensor::empty_like(t.get()) : Tensor();
                  backward_scores(score, q.get(), t.get(), y, dy, false, dq, dt);
                  if (dq) out.add(0, dq);
                  if (dt) out.add(1, dt);
                });
}

Var drawn_loss(const DrawnLossRule& rule, const Var& y, const Var& drawn, const Tensor& weight) {
  const OpScope scope("drawn_loss", y, drawn);
  Tensor loss = Tensor::empty({}, y.dtype(), y.device());
  kernels::drawn_loss({.rule = rule, .y = y.value(), .drawn = drawn.value(), .weight = weight, .loss = loss});
  return record(
      "drawn_loss", loss, {y, drawn},
      [rule, y = Saved(y.value()), drawn = Saved(drawn.value()), weight](Tensor dloss, Gradients& out) {
        Tensor dy = Tensor::empty_like(y.get()), ddrawn = Tensor::empty_like(drawn.get());
        kernels::drawn_loss_backward({.rule = rule,
                                      .y = y.get(),
                                      .drawn = drawn.get(),
                                      .weight = weight,
                                      .dloss = dloss,
                                      .dy = dy,
                                      .ddrawn = ddrawn});
        out.add(0, dy);
        out.add(1, ddrawn);
      });
}

Var entity_loss(TripleLoss kind, TripleScore score, const Var& q, const Var& t, const EntityTargets& target) {
  const OpScope scope("entity_loss", q, t);
  const int64_t queries = q.size(0), entities = t.size(0), chunk = chunk_of(queries, q.device());
  Tensor state = Tensor::empty({queries, 3}, q.dtype(), q.device()),
         loss = Tensor::empty({}, q.dtype(), q.device());
  ADJ_CHECK(entities > 0, "entity_loss: t is {}, expected entities", t.value().str());
  const auto targets_of = [](const EntityTargets& list) {
    return kernels::TripleTargets{list.offsets, list.ids, list.rows};
  };
  for (int64_t begin = 0; begin < entities; begin += chunk) {
    const Tensor rows = t.value().rows(begin, std::min(entities, begin + chunk));
    Tensor y = Tensor::empty({queries, rows.size(0)}, q.dtype(), q.device());
    kernels::score_entities(score, q.value(), rows, y);
    kernels::entity_loss(
        {.kind = kind, .y = y, .begin = begin, .target = targets_of(target), .state = state});
  }
  kernels::entity_loss_mean({.kind = kind, .state = state, .target = targets_of(target), .loss = loss});
  return record("entity_loss", loss, {q, t},
                [=, q = Saved(q.value()), t = Saved(t.value())](Tensor dloss, Gradients& out) {
                  Tensor dq = out.wanted(0) ? Tensor::empty_like(q.get()) : Tensor(),
                         dt = out.wanted(1) ? Tensor::empty_like(t.get()) : Tensor();
                  for (int64_t begin = 0; begin < entities; begin += chunk) {
                    const int64_t end = std::min(entities, begin + chunk);
                    const Tensor rows = t.get().rows(begin, end);
                    Tensor y = Tensor::empty({queries, end - begin}, rows.dtype(), rows.device());
                    kernels::score_entities(score, q.get(), rows, y);
                    // Distances need their scores besides the gradients.
                    Tensor dy = score == TripleScore::l2 ? y.clone() : y;
                    kernels::entity_loss_backward({.kind = kind,
                                                   .y = dy,
                                                   .begin = begin,
                                                   .target = targets_of(target),
                                                   .state = state,
                                                   .dloss = dloss});
                    Tensor part = dt ? dt.rows(begin, end) : Tensor();
                    backward_scores(score, q.get(), rows, y, dy, begin > 0, dq, part);
                  }
                  if (dq) out.add(0, dq);
                  if (dt) out.add(1, dt);
                });
}

Var power_sum(const Var& x, int power, bool complex, double factor) {
  const OpScope scope("power_sum", x);
  Tensor sum = Tensor::empty({}, x.dtype(), x.device());
  kernels::power_sum({.x = x.value(), .power = power, .complex = complex, .factor = factor, .sum = sum});
  return record(
      "power_sum", sum, {x}, [x = Saved(x.value()), power, complex, factor](Tensor dsum, Gradients& out) {
        Tensor dx = Tensor::empty_like(x.get());
        kernels::power_sum_backward(
            {.x = x.get(), .power = power, .complex = complex, .factor = factor, .dsum = dsum, .dx = dx});
        out.add(dx);
      });
}

}  // namespace adj
