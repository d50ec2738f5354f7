// Additive attention: logits are sums of a target term and a source term (GAT, GATv2).
#pragma once

#include <adjoint/autograd/attention_options.h>
#include <adjoint/graph/relation.h>

namespace adj {

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

}  // namespace adj
