// Saved for backward: x, e and w; messages are recomputed.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/relation.h>

namespace adj {

/// y_i = Σ_j relu(x_j + wᵀ e_ij) over the edges j -> i: x [num_src,F], e [M,E] by edge number, w [E,F] -> y
/// [num_dst,F]. Without `w`, E = F and e is added unchanged. GINE (Hu et al. 2020). Nothing of size M x F is
/// made, except the caller's e and its gradient. All of one dtype. Throws if sizes do not match.
Var gine_sum(const Relation& relation, const Var& x, const Var& e, const Var& w = {});

}  // namespace adj
