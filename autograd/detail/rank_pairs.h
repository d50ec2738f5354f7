#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/detail/rank_pairs.h>

#include <memory>

// Ops over the edges of a rank's nodes from the pairs of their sources, by edge number of sources.edges.
// Gradients of pairs are sums over the edges that begin there: what these need of the targets' ranks is
// fetched, edge by edge and target by target, and added in the order of one rank.

namespace adj::detail {

using RankTypedEdgesPtr = std::shared_ptr<const RankTypedEdges>;

/// y_i = Σ_e w_e v_s(e): v [source pairs, H, D] of this rank, w [M, H] -> [targets, H, D].
Var rank_aggregate(const RankTypedEdgesPtr& edges, const Var& v, const Var& w);
/// ⟨q_i, k_s(e)⟩ per head: q [targets, H, D], k [source pairs, H, D] -> [M, H].
Var rank_edge_dot(const RankTypedEdgesPtr& edges, const Var& q, const Var& k);
/// l_t(e) + r_s(e): l [target pairs, H], r [source pairs, H] -> [M, H].
Var rank_edge_add(const RankTypedEdgesPtr& edges, const Var& l, const Var& r);
/// x on all ranks alike; its gradient is the sum of theirs, on the first one, and zeros on others.
Var summed_on_first(const Group& group, const Var& x);

}  // namespace adj::detail
