// Dot-product attention: logits are dot products of target and source features (graph transformer), or of
// their directions (AGNN).
#pragma once

#include <adjoint/autograd/attention_options.h>
#include <adjoint/graph/relation.h>

namespace adj {

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
