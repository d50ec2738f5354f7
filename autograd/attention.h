// Fused attention over the incoming edges of each target: per head, coefficients are a softmax of logits over
// a target's edges, and logits and coefficients are never stored (kernels/attention/). Features are [N,H,D]:
// H heads of width D. A target without edges gives 0 and no gradient.
//
// Saved for backward: the inputs, the output, and per target and head the log-sum-exp (for GAT also the two
// terms per node and head that its logits are sums of). Nothing of size M x F is made. Tensors of size M x H
// exist only during a pass: terms of edge features, and data shared by the two halves of the backward pass.
// Attention dropout is redrawn in the backward pass.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/core/random.h>
#include <adjoint/graph/relation.h>

namespace adj {

/// Options of the attention ops. `edge_weight` has the nodes' dtype: [E, H] for gat_attention(), [E, H D] for
/// gatv2_attention() and dot_attention().
struct AttentionOptions {
  float dropout = 0.0f;            ///< drop probability of a coefficient, in [0, 1)
  bool training = true;            ///< if false, no dropout
  Generator* generator = nullptr;  ///< for dropout, which takes one stream; null: default_generator()
  /// Edge features [M,E] by edge number and their weight, both or neither; the features have the nodes' dtype
  /// or the accumulator dtype (bfloat16 is widened in each pass: 4 M E bytes). Each attention documents their
  /// use.
  Var edge_attr = {};
  Var edge_weight = {};
};

// Additive attention: logits are sums of a target term and a source term (GAT, GATv2).

/// y[n,h] = ⟨x[n,h,:], a[h,:]⟩ for x [N,H,D], a [H,D]; y [N,H] has the accumulator dtype. Saved: x and a.
Var head_dot(const Var& x, const Var& a);

/// α_ij = softmax_j(leaky_relu(⟨source, x_j⟩ + ⟨target, y_i⟩ + c_ij)), O_i = Σ_j α_ij x_j (GAT eq. 3 and 4,
/// Veličković et al. 2018). x [num_src,H,D], source and target [H,D]; y is `x_dst` [num_dst,H,D], or x by
/// default if sources and targets are the same nodes. Edge features give c = edge_attr edge_weight,
/// edge_weight [E,H]. The optional bias [H D] is added to O [num_dst,H,D] when it is written.
Var gat_attention(const Relation& relation, const Var& x, const Var& source, const Var& target, float slope,
                  const AttentionOptions& options = {}, const Var& x_dst = {}, const Var& bias = {});

/// α_ij = softmax_j ⟨att, leaky_relu(l_i + r_j + w_ij)⟩, O_i = Σ_j α_ij r_j (GATv2 eq. 7, Brody et al. 2022).
/// l = `x_dst` [num_dst,H,D] and r = `x_src` [num_src,H,D], which may be one variable; att [H,D]. Edge
/// features give w = edge_attr edge_weight, edge_weight [E, H D]. The optional bias [H D] is added to O
/// [num_dst,H,D] when it is written.
Var gatv2_attention(const Relation& relation, const Var& x_dst, const Var& x_src, const Var& att, float slope,
                    const AttentionOptions& options = {}, const Var& bias = {});

// Dot-product attention: logits are dot products of target and source features (graph transformer), or of
// their directions (AGNN).

/// α_ij = softmax_j(scale ⟨q_i, k_j + w_ij⟩), O_i = Σ_j α_ij (v_j + w_ij) (Vaswani et al. 2017; over the
/// edges of a graph, Shi et al. 2021). q [num_dst,H,D], k and v [num_src,H,D]; O [num_dst,H,D]. Edge features
/// give w = edge_attr edge_weight, edge_weight [E, H D]; w is never materialized: ⟨q_i, w_ij⟩ = ⟨q_i Wᵀ,
/// attr_ij⟩. Non-finite values stay within their head. `scale` 0 means 1 / sqrt(D). With edge features Σ_j
/// α_ij attr_ij [num_dst, H E] is saved too.
Var dot_attention(const Relation& relation, const Var& q, const Var& k, const Var& v,
                  const AttentionOptions& options = {}, float scale = 0.0f);

/// α_ij = softmax_j(β cos(x_i, x_j)), O_i = Σ_j α_ij x_j (AGNN eq. 8, Thekumparampil et al. 2018), with |x|
/// clamped to at least 1e-12 in cos. x [N,F] over one set of nodes, β [1]; O [N,F]. No edge features. Saved:
/// x, β, O and the log-sum-exps; directions are recomputed.
Var cosine_attention(const Relation& relation, const Var& x, const Var& beta,
                     const AttentionOptions& options = {});

}  // namespace adj
