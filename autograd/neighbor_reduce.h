// Reductions over neighbours, several of them in one pass. Saved for backward: of max and min the winners,
// int32 [num_dst, F] each; of var and std the input, the means and the output. The gradient of a maximum goes
// to its winner alone, weighed where the terms were; that of a weight is what its edge won, so the input is
// saved for it. What the others give a source is p + x q, with p and q sums over its out-edges of
// terms that belong to targets: a product with the transposed structure, F or 2 F wide.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/relation.h>
#include <adjoint/kernels/aggregate/neighbor_reduce.h>

#include <vector>

namespace adj {

namespace detail {

/// [num_dst, K F] for x [num_src, F]; for one reduction of x [num_src, H, D] it is [num_dst, H, D]. `given`
/// [M], wide or of x's dtype: the weights of the terms of max or min, or absent.
Var reduce_neighbors(const char* name, const Relation& relation, const Var& x, std::vector<Reduce> reduce,
                     const Var& given = {});

}  // namespace detail

/// Several reductions of the x_j over the edges j -> i, each asked for once, in one pass that reads every
/// x_j once (the aggregators of PNA, Corso et al. 2020): x [num_src, F] gives [num_dst, K F], the k-th
/// reduction in columns [k F, (k + 1) F). Targets without edges give 0. Ties of max and min, and their
/// gradient, go to the first edge of the row in csr(): the smallest source, but in a sampled block; var and
/// std are PyG's (gradient 0 of a std of 0). NaN stays visible. Throws for sizes or one reduction twice.
Var aggregate_all(const Relation& relation, const Var& x, const std::vector<Reduce>& reduce);

}  // namespace adj
