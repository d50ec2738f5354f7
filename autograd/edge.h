// Edge operations: building blocks of attention and of custom messages. They take a relation (a Graph or
// Block converts to its own) and three kinds of tensors: of its sources, of its targets (on a Graph both are
// the nodes) and of its edges, [M] or [M,H] for H heads, by edge number. A layer after Veličković et al.
// 2018:
//
//   Var alpha = edge_softmax(g, leaky_relu(edge_add(g, l, r), 0.2f));                   // [M,H]
//   return aggregate(g, x, {.weight = alpha});                                          // [N, H D]
//
// Nothing of size M x F is made: edges hold at most one number per head. Target gradients are gathered over
// CSR rows, source gradients over rows of the transpose: no atomics, and bitwise equal results for any number
// of threads. Edge outputs have the accumulator dtype, float32 for bfloat16 inputs: one number per head is
// cheap to store, and a softmax of rounded scores is far from one of the scores. edge_softmax and aggregate
// also accept bfloat16 edge values, with gradients in bfloat16.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/types/activation.h>
#include <adjoint/kernels/types/reduce.h>

namespace adj {

/// Options of aggregate(): `reduce` combines the terms w_ij x_j of a target.
struct AggregateOptions {
  Reduce reduce = Reduce::sum;
  Var weight = {};  ///< per edge, [M] or [M,H]; absent: ones
};

/// Y_i = Σ_j w_ij x_j over the edges j -> i of a graph, relation or block, or their mean (divided by the
/// number of edges, not by the sum of weights); targets without edges give 0. x [num_src, F] or [num_src, H,
/// D]; Y likewise with num_dst rows. Weights [M,H] are per head: w[:, h] applies to features [h D, (h + 1)
/// D), F = H D. dw_ij = ⟨dY_i, x_j⟩, in the same pass as dx. With bfloat16 features, weights are float32 or
/// bfloat16.
///
/// Max and min reduce w_ij x_j for weights [M]; the gradient goes to the winning edge, on ties the first of
/// the target in csr(). Variance and standard deviation take no weights (aggregate_all in neighbor_reduce.h
/// computes several reductions at once).
///
/// If the relation scatters() and the weights are [M] or absent, sums and means run over its unsorted edge
/// list. On a GPU sums and means with weights [M] or none, and edge_dot(), use tensor cores if
/// ComputeContext::sparse_kernels and the precision allow. Throws if sizes do not match.
Var aggregate(const Relation& relation, const Var& x, const AggregateOptions& options = {});

/// act(A x + bias), the same with the entries of a sparse matrix as weights: x [cols,F] -> [rows,F], bias [F]
/// optional, `activation` none or relu. Linear in x: only A is saved, and backward multiplies with its
/// adjoint. The bias has x's dtype; A's values are float32 with bfloat16 features. Runs over CSR rows, or
/// over the edge list if the matrix's relation scatters(). On a GPU uses tensor cores as above.
Var aggregate(const SparseMatrix& matrix, const Var& x, const Var& bias = {},
              Activation activation = Activation::none);

/// e_ij = ⟨q_i, k_j⟩ for every edge j -> i. q [num_dst, H, D] and k [num_src, H, D] give [M,H], one dot
/// product per head; q [num_dst, F] and k [num_src, F] give [M], or [M,heads] if `heads` is given and divides
/// F: head h covers features [h D, (h + 1) D).
Var edge_dot(const Relation& relation, const Var& q, const Var& k, int64_t heads = 0);

/// e_ij = l_i + r_j for every edge j -> i: l [num_dst] and r [num_src] give [M]; [num_dst, H] and [num_src,
/// H] give [M,H].
Var edge_add(const Relation& relation, const Var& l, const Var& r);

/// α_ij = exp(e_ij) / Σ_j exp(e_ij) over the incoming edges of each target, per head; e [M] or [M,H]. The
/// maximum logit is subtracted first. Saves only its output. bfloat16 logits give float32.
Var edge_softmax(const Relation& relation, const Var& e);

}  // namespace adj
