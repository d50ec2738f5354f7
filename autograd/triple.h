// Scores and losses of triples. Saved for the backward pass: operands, scores of drawn entities, and three
// numbers a query of a loss over all entities, whose scores are computed again, a chunk of entities at a
// time.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/types/triple.h>

namespace adj {

/// [Q,D]: queries of the entities x [Q,D], row i with row i mod B of `relation` [B, relation_width()]; rows
/// from `inverse` on hold tails and ask for heads.
Var triple_queries(TripleModel model, const Var& x, const Var& relation, int64_t inverse);

/// [Q]: scores of q[i, :] and t[(i + shift) mod Q, :].
Var paired_scores(TripleScore score, const Var& q, const Var& t, int64_t shift = 0);

/// [Q,K]: scores of every query q [Q,D] and every entity t [K,D].
Var entity_scores(TripleScore score, const Var& q, const Var& t);

using kernels::DrawnLossRule;
/// The mean loss of true entities' scores y [Q] beside those of drawn ones [Q,K], of query i times
/// weight[i mod B] [B], if given.
Var drawn_loss(const DrawnLossRule& rule, const Var& y, const Var& drawn, const Tensor& weight = {});

/// True entities of the queries: those of query i are ids[offsets[rows[i]]] and so on; int64 [R+1], int32,
/// int32 [Q].
struct EntityTargets {
  Tensor offsets, ids, rows;
};
/// The mean loss of queries q [Q,D] over all entities t [N,D], as kernels::EntityLossMeanArgs defines it. No
/// scores [Q,N] are kept: both passes go over chunks of entities.
Var entity_loss(TripleLoss kind, TripleScore score, const Var& q, const Var& t, const EntityTargets& target);

/// factor Σ |x|^power, of real or complex numbers in x [N,D]: L2 (2) or N3 (3; Lacroix et al. 2018).
Var power_sum(const Var& x, int power, bool complex, double factor);

}  // namespace adj
