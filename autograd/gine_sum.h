// Saved for backward: x, e and w; messages are computed again.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/relation.h>

namespace adj {

/// y_i = Σ_j relu(x_j + wᵀ e_ij) over the edges j -> i: x [num_src,F], e [M,E] by edge number, w [E,F] -> y
/// [num_dst,F]. Without `w` E is F, and e is added as it is. GINE (Hu et al. 2020); nothing of size M x F is
/// made but what the caller brings, and its gradient. All of one dtype. Throws where sizes do not fit.
Var gine_sum(const Relation& relation, const Var& x, const Var& e, const Var& w = {});

}  // namespace adj
