// Edge operations: what attention and messages of one's own are built from. They take a relation (a Graph or
// a Block stands for its own) and tensors of three kinds: of its sources, of its targets (on a Graph both are
// the nodes) and of its edges, [M] or [M,H] for H heads by edge number. A layer after Veličković et al. 2018:
//
//   Var alpha = edge_softmax(g, leaky_relu(edge_add(g, l, r), 0.2f));                   // [M,H]
//   return aggregate(g, x, {.reduce = Reduce::sum, .weight = alpha});                   // [N, H D]
//
// Nothing of size M x F is made: the largest thing of an edge is one number a head. Gradients that belong to
// targets are gathered over the rows of the CSR, those of sources over the transposed one: no atomics, the
// same bits for any number of threads. What an op makes of edges is wide, float32 beside bfloat16: one number
// a head is little to keep, and a softmax of rounded scores is far from one of the scores. Where edges have
// bfloat16 values all the same, edge_softmax and aggregate take them, with gradients in bfloat16.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/relation.h>
#include <adjoint/kernels/aggregate/neighbor_reduce.h>

namespace adj {

struct AggregateOptions {
  Reduce reduce = Reduce::sum;
  Var weight = {};  ///< of the edges, [M] or [M,H]; absent: all ones
};

/// Y_i = Σ_j w_ij x_j over the edges j -> i, or their mean (over the number of edges, not the sum of
/// weights); targets without edges give 0. x [num_src, F] or [num_src, H, D]; Y likewise with num_dst rows.
/// Weights [M,H] weigh by head: w[:, h] belongs to features [h D, (h + 1) D), F = H D. dw_ij = ⟨dY_i, x_j⟩,
/// in the same pass as dx. Weights beside bfloat16 features are float32 or bfloat16. The largest or smallest
/// is of w_ij x_j for weights [M], and its gradient goes to the edge that won, of equal ones to the target's
/// first in csr(); variances and their roots (aggregate_all in neighbor_reduce.h, which gives several at
/// once) take no weights. Where the relation scatters() and the weights are [M] or absent, sums and means are
/// taken over its list of edges as it is, and nothing is sorted. On a GPU sums and means with weights [M] or
/// none, and edge_dot(), by tensor cores where ComputeContext allows. Throws where sizes
/// do not fit.
Var aggregate(const Relation& relation, const Var& x, const AggregateOptions& options = {});

/// e_ij = ⟨q_i, k_j⟩ for every edge j -> i. q [num_dst, H, D] and k [num_src, H, D] give [M,H], a dot product
/// for each head; q [num_dst, F] and k [num_src, F] give [M], or [M,heads] where `heads` is given and divides
/// F: head h takes features [h D, (h + 1) D).
Var edge_dot(const Relation& relation, const Var& q, const Var& k, int64_t heads = 0);

/// e_ij = l_i + r_j for every edge j -> i: l [num_dst] and r [num_src] give [M], [num_dst, H] and [num_src,
/// H] give [M,H].
Var edge_add(const Relation& relation, const Var& l, const Var& r);

/// α_ij = exp(e_ij) / Σ_j exp(e_ij) over the edges into each target, by head; e [M] or [M,H]. The largest
/// logit is subtracted first. Keeps its output and nothing else. float32 of bfloat16 logits.
Var edge_softmax(const Relation& relation, const Var& e);

}  // namespace adj
