// Attention whose logits are made of a sum of a target's and a source's terms: GAT's and GATv2's.
#pragma once

#include <adjoint/autograd/attention_options.h>
#include <adjoint/graph/relation.h>

namespace adj {

/// y[n,h] = ⟨x[n,h,:], a[h,:]⟩: x [N,H,D], a [H,D]; y [N,H] is wide. Saved: x and a.
Var head_dot(const Var& x, const Var& a);

/// α_ij = softmax_j(leaky_relu(⟨source, x_j⟩ + ⟨target, y_i⟩ + c_ij)), O_i = Σ_j α_ij x_j (GAT eq. 3 and 4,
/// Veličković et al. 2018). x [num_src,H,D], source and target [H,D]; y is `x_dst` [num_dst,H,D], or x itself
/// where that is left out and both sides are one set of nodes. Edge features give c = edge_attr edge_weight,
/// edge_weight [E,H]. bias [H D], optional, is added to O [num_dst,H,D] as it is written.
Var gat_attention(const Relation& relation, const Var& x, const Var& source, const Var& target, float slope,
                  const AttentionOptions& options = {}, const Var& x_dst = {}, const Var& bias = {});

/// α_ij = softmax_j ⟨att, leaky_relu(l_i + r_j + w_ij)⟩, O_i = Σ_j α_ij r_j (GATv2 eq. 7, Brody et al. 2022).
/// l = `x_dst` [num_dst,H,D], r = `x_src` [num_src,H,D], which may be one variable, att [H,D]. Edge features
/// give w = edge_attr edge_weight, edge_weight [E, H D]. bias [H D], optional, is added to O [num_dst,H,D] as
/// it is written.
Var gatv2_attention(const Relation& relation, const Var& x_dst, const Var& x_src, const Var& att, float slope,
                    const AttentionOptions& options = {}, const Var& bias = {});

}  // namespace adj
