#pragma once

#include <adjoint/autograd/grouped_linear.h>
#include <adjoint/core/choice.h>
#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/module.h>

#include <array>

namespace adj::nn {

/// Which edges of a target the softmax is over.
enum class RelationalSoftmax : uint8_t {
  across_relation,  ///< of all relations
  within_relation   ///< of one relation; results of all are added
};
constexpr auto names_of(RelationalSoftmax) { return std::array{"across-relation", "within-relation"}; }

/// Logits of RGATConv.
enum class RelationalLogits : uint8_t {
  additive,       ///< leaky_relu(q + k)
  multiplicative  ///< q k
};
constexpr auto names_of(RelationalLogits) {
  return std::array{"additive-self-attention", "multiplicative-self-attention"};
}

/// Options of RGATConv.
struct RGATConvOptions {
  int64_t bases = 0;   ///< B > 0: W_r = Σ_b a_rb V_b of B matrices
  int64_t blocks = 0;  ///< B > 0: W_r is block-diagonal
  RelationalSoftmax softmax = RelationalSoftmax::across_relation;  ///< PyG's attention_mechanism
  RelationalLogits logits = RelationalLogits::additive;            ///< PyG's attention_mode
  int64_t heads = 1;                                               ///< attention heads of width `out`
  bool concat = true;           ///< concatenated heads, [N, heads out]; else their mean, [N, out]
  float negative_slope = 0.2f;  ///< of the leaky relu
  float dropout = 0.0f;         ///< of the coefficients, in training mode
  bool bias = true;             ///< b
};

/// b + Σ α_ij h_j over the edges j -> i of each relation r, h_j = x_j W_r; α is the softmax, across or within
/// relations, of logits of h_i Q and h_j K per head (Busbridge et al., Relational Graph Attention Networks,
/// 2019, eq. 3 to 8; PyG's RGATConv with dim 1, without edge features and cardinality preservation). All
/// relations are multiplied at once, each pair of a relation and a source once; h_i of targets is not made,
/// but x_i (W_r Q). Edges have numbers per head, 4 bytes each, never features. Parameters are Glorot-uniform,
/// b is 0.
class RGATConv : public Module {
 public:
  /// Throws unless widths, heads and `relations` are positive, and divisible by the blocks.
  RGATConv(int64_t in, int64_t out, int64_t relations, const RGATConvOptions& options = {});
  /// x of all nodes, or {x_src [num_src, in], x_dst [num_dst, in]}; `types` as for RGCNConv. Over a
  /// rank's part with additive logits only; throws otherwise.
  Var operator()(const Structure& structure, const Sides& x, const Tensor& types = {}) const;
  std::string describe() const override;

  Var weight;  ///< [R, in, heads out]; with bases V [B, in, heads out], with blocks [R, B, in/B, heads out/B]
  Var comp;    ///< a [R, B], with bases
  Var q, k;    ///< Q and K [heads out, heads]
  Var bias;    ///< [heads out] or [out], or absent

 private:
  Var each_relation(const Var& map) const;
  Var queries_of(const Var& x, const Var& maps, const RowGroups& rows) const;
  Var attention(const Relation& relation, const Tensor& of_edges, const Sides& x) const;
  /// The same over a rank's part: each pair is computed by the rank of its node.
  Var rank_attention(const Relation& part, const Tensor& types, const Var& x) const;

  int64_t in_, out_, relations_;
  RGATConvOptions options_;
};

}  // namespace adj::nn
