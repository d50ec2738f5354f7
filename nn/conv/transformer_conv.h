#pragma once

#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/linear.h>

#include <optional>

namespace adj::nn {

/// Options of TransformerConv.
struct TransformerConvOptions {
  int64_t heads = 1;     ///< attention heads of width `out`
  bool concat = true;    ///< concatenated heads, [N, heads out]; else their mean, [N, out]
  bool beta = false;     ///< learned gate between the attention's output and the skip connection
  float dropout = 0.0f;  ///< of the coefficients, in training mode
  std::optional<int64_t> edge_dim = {};  ///< width of the edge features; absent: none
  bool bias = true;                      ///< of all maps except the edges' and the gate's
  bool root_weight = true;               ///< adds a linear map of the targets' features
};

/// m_i = Σ_j α_ij (W_v x_j + W_e e_ij) per head, α_ij = softmax_j(⟨W_q x_i, W_k x_j + W_e e_ij⟩ / sqrt(out)),
/// and W_skip x_i + m_i, or with `beta` their mean weighted by a gate σ(w ⋅ [m_i, W_skip x_i, m_i - W_skip
/// x_i]) (Shi et al., Masked Label Prediction, 2021, eq. 3 to 5). x [N,in], features of any kind -> [N, heads
/// out]. One pass over the edges: neither coefficients nor mapped edge features are stored. All maps are
/// uniform in ±1 / sqrt(in), as in PyG's TransformerConv.
class TransformerConv : public Module {
 public:
  TransformerConv(Widths in, int64_t out, const TransformerConvOptions& options = {});
  /// x of all nodes, or {x_src [num_src, in.src], x_dst [num_dst, in.dst]} -> [num_dst, heads out].
  Var operator()(const Structure& structure, const Sides& x, const Var& edge_attr = {}) const;
  std::string describe() const override;

  Child<Linear> lin_key, lin_query, lin_value;  ///< W_k, W_q, W_v
  std::optional<Child<Linear>> lin_edge;        ///< W_e, with edge_dim
  Child<Linear> lin_skip;                       ///< without root_weight present but unused, as in PyG
  std::optional<Child<Linear>> lin_beta;        ///< w, with beta and root_weight

 private:
  template <class X>
  Var attend(const Relation& relation, const X& x_src, const X& x_dst, const Var& edge_attr) const;

  TransformerConvOptions options_;
};

}  // namespace adj::nn
