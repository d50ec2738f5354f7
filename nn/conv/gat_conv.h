#pragma once

#include <adjoint/nn/conv/attention_edges.h>
#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/linear.h>

#include <optional>

namespace adj::nn {

/// Options of GATConv.
struct GATConvOptions {
  int64_t heads = 1;                     ///< attention heads of width `out`
  bool concat = true;                    ///< concatenated heads, [N, heads out]; else their mean, [N, out]
  float negative_slope = 0.2f;           ///< of the leaky ReLU
  float dropout = 0.0f;                  ///< of the coefficients, in training mode
  bool add_self_loops = true;            ///< every node attends to itself, once
  std::optional<int64_t> edge_dim = {};  ///< width of the edge features; absent: none
  LoopFill fill_value = {};              ///< features of the added loops
  bool bias = true;                      ///< b
  bool residual = false;                 ///< adds a linear map of the targets' features
};

/// Σ_j α_ij W x_j + b per head, α_ij = softmax_j(leaky_relu(⟨a_src, W x_j⟩ + ⟨a_dst, W x_i⟩ + ⟨a_edge, W_e
/// e_ij⟩)) (Veličković et al., Graph Attention Networks, 2018, eq. 3 to 6). x [N,in], dense or sparse
/// features -> [N, heads out]. One pass over the edges: coefficients are not stored, and edge features become
/// one number per head. W and the vectors are Glorot-uniform, b zero, as in PyG's GATConv. For sources and
/// targets of two widths W is `lin_src` and `lin_dst`; `lin_edge` is W_e, `res` the residual's map, where the
/// options ask for them.
class GATConv : public Module {
 public:
  GATConv(Widths in, int64_t out, const GATConvOptions& options = {});
  /// x of all nodes, or {x_src [num_src, in.src], x_dst [num_dst, in.dst]} -> [num_dst, heads out].
  Var operator()(const Structure& structure, const Sides& x, const Var& edge_attr = {}) const;
  std::string describe() const override;

  std::optional<Child<Linear>> lin;               ///< W, shared by sources and targets; or else:
  std::optional<Child<Linear>> lin_src, lin_dst;  ///< where two widths are given
  std::optional<Child<Linear>> lin_edge, res;
  Var att_src, att_dst, att_edge;  ///< [heads, out]; att_edge only with edge_dim
  Var bias;                        ///< [heads out] or [out], or absent

 private:
  template <class X>
  Var attend(const Relation& relation, const X& x_src, const X& x_dst, bool same, const Var& edge_attr) const;

  int64_t in_;
  GATConvOptions options_;
};

/// Options of GATv2Conv.
struct GATv2ConvOptions {
  int64_t heads = 1;                     ///< attention heads of width `out`
  bool concat = true;                    ///< concatenated heads, [N, heads out]; else their mean, [N, out]
  float negative_slope = 0.2f;           ///< of the leaky ReLU
  float dropout = 0.0f;                  ///< of the coefficients, in training mode
  bool add_self_loops = true;            ///< every node attends to itself, once
  std::optional<int64_t> edge_dim = {};  ///< width of the edge features; absent: none
  LoopFill fill_value = {};              ///< features of the added loops
  bool bias = true;                      ///< of both maps and of the result
  bool share_weights = false;            ///< one map for sources and targets
  bool residual = false;                 ///< adds a linear map of the targets' features
};

/// Σ_j α_ij W_l x_j + b per head, α_ij = softmax_j ⟨a, leaky_relu(W_r x_i + W_l x_j + W_e e_ij)⟩ (Brody et
/// al., How Attentive are Graph Attention Networks?, 2022, eq. 7). x [N,in], features of any kind -> [N,
/// heads out]. One pass over the edges: neither coefficients nor mapped edge features are stored. Maps and
/// vector are Glorot-uniform, the maps' biases uniform in ±1 / sqrt(in), b zero, as in PyG's GATv2Conv.
/// `lin_edge` is W_e, `res` the residual's map, where the options ask for them.
class GATv2Conv : public Module {
 public:
  GATv2Conv(Widths in, int64_t out, const GATv2ConvOptions& options = {});
  /// x of all nodes, or {x_src [num_src, in.src], x_dst [num_dst, in.dst]} -> [num_dst, heads out].
  Var operator()(const Structure& structure, const Sides& x, const Var& edge_attr = {}) const;
  std::string describe() const override;

  Child<Linear> lin_l, lin_r;  ///< for sources and targets
  std::optional<Child<Linear>> lin_edge, res;
  Var att;   ///< [heads, out]
  Var bias;  ///< [heads out] or [out], or absent

 private:
  template <class X>
  Var attend(const Relation& relation, const X& x_src, const X& x_dst, bool same, const Var& edge_attr) const;

  GATv2ConvOptions options_;
};

}  // namespace adj::nn
