// Reductions over neighbours, several in one pass. Saved for backward: for max and min the winners, int32
// [num_dst, F] each; for var and std the input, the means and the output. The gradient of a maximum goes to
// its winner only, times the edge weight if weighted; the gradient of a weight is a sum over the features
// that its edge won, so the input is saved for it. The other reductions give a source p + x q, where p and q
// are sums over its out-edges of target terms: one product with the transposed structure, F or 2 F wide.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/relation.h>
#include <adjoint/kernels/types/reduce.h>

#include <vector>

namespace adj {

namespace detail {

/// [num_dst, K F] for x [num_src, F]; a single reduction of x [num_src, H, D] gives [num_dst, H, D]. `given`
/// [M], of the accumulator dtype or x's: weights of max or min, or absent.
Var reduce_neighbors(const char* name, const Relation& relation, const Var& x, std::vector<Reduce> reduce,
                     const Var& edge_weight = {});

}  // namespace detail

/// Several distinct reductions of x_j over the edges j -> i, in one pass that reads every x_j once (the
/// aggregators of PNA, Corso et al. 2020): x [num_src, F] gives [num_dst, K F], the k-th reduction in columns
/// [k F, (k + 1) F). Targets without edges give 0. Ties of max and min, and their gradient, go to the first
/// edge of the row in csr(): the smallest source, except in a sampled block. var and std match PyG (gradient
/// 0 for a std of 0). NaN propagates. Throws for mismatched sizes or a repeated reduction.
Var aggregate_all(const Relation& relation, const Var& x, const std::vector<Reduce>& reduce);

}  // namespace adj
