#pragma once

#include <adjoint/graph/relation.h>
#include <adjoint/nn/linear.h>

namespace adj::nn {

/// Options of MultiheadAttention.
struct MultiheadAttentionOptions {
  int64_t heads = 1;     ///< of width `width` / heads
  float dropout = 0.0f;  ///< of the coefficients, in training mode
};

/// W_o [α¹ V¹, …, α^H V^H] + b_o, α = softmax(Q Kᵀ / √D) over the edges of each target, [Q, K, V] = x W + b:
/// of a relation of all pairs (all_pairs()) self-attention within each graph (Vaswani et al. 2017,
/// section 3.2; PyTorch's MultiheadAttention). W is Glorot-uniform, W_o uniform in ±1 / √width, biases are 0.
class MultiheadAttention : public Module {
 public:
  /// Throws unless the heads divide the width.
  explicit MultiheadAttention(int64_t width, const MultiheadAttentionOptions& options = {});
  /// x [N, width] -> [N, width]; the relation is from the nodes to themselves.
  Var operator()(const Relation& pairs, const Var& x) const;
  std::string describe() const override;

  Child<Linear> in_proj;   ///< W [width, 3 width] and b
  Child<Linear> out_proj;  ///< W_o and b_o

 private:
  MultiheadAttentionOptions options_;
};

}  // namespace adj::nn
