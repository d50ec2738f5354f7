// What belongs to edges, taken along where self-loops go or come (graph/self_loops.h), and sums over edges.
// Either gradient is a gather: of what an edge became, of what a target has.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/self_loops.h>

namespace adj {

/// The edges of `to`, with what the old ones have (`x` [M] or [M, E], by edge number) and what added loops
/// get (`loops` [to.loops] or [to.loops, E], by node; absent where none is added). Throws where sizes do not
/// fit.
Var with_self_loops(const LoopedRelation& to, const Var& x, const Var& loops = {});

/// y_i = Σ_j e_ij over the edges j -> i: e [M] or [M, E] by edge number, y [num_dst] or [num_dst, E]. Targets
/// without edges give 0. Throws where sizes do not fit.
Var edge_sum(const Relation& relation, const Var& e);

}  // namespace adj
