#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/relation.h>

namespace adj::detail {

/// x [num_src, ...] of a rank's part with the rows of other ranks: the sources of relation.local_edges(). Ops
/// over a rank's edges go over those and x's halo. Its gradient goes back to the ranks of the rows, where
/// that of a row is summed in the order of ranks.
Var halo_rows(const Relation& relation, const Var& x);
/// Its adjoint: [num_src, ...] from y of the sources of relation.local_edges(), to each of this rank's
/// sources the sum over the ranks that have it.
Var sum_halo_rows(const Relation& relation, const Var& y);

}  // namespace adj::detail
