// Edge values when self-loops are added or removed (graph/self_loops.h), and sums over edges. Both gradients
// are gathers: from the new edges, and from the targets.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/self_loops.h>

namespace adj {

/// The values of the edges of `relation`: those of the old edges (`x` [M] or [M, E], by edge number) and of
/// added loops (`loops` [relation.loops] or [relation.loops, E], by node; absent if none is added). Throws if
/// sizes do not match.
Var with_self_loops(const LoopedRelation& relation, const Var& x, const Var& loops = {});

/// y_i = Σ_j e_ij over the edges j -> i: e [M] or [M, E] by edge number, y [num_dst] or [num_dst, E]. Targets
/// without edges give 0. Throws if sizes do not match.
Var edge_sum(const Relation& relation, const Var& e);

}  // namespace adj
