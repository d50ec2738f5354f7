#pragma once

#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/multihead_attention.h>
#include <adjoint/nn/norm/norm.h>

namespace adj::nn {

/// Options of GPSConv.
struct GPSConvOptions {
  int64_t heads = 1;               ///< of the attention
  float dropout = 0.0f;            ///< of each part's result and of the network, in training mode
  float attention_dropout = 0.0f;  ///< of the coefficients, in training mode
};

/// GPSConv without its local layer.
class GPSLayer : public Module {
 public:
  std::string describe() const override;

  Child<MultiheadAttention> attn;        ///< between all nodes of a graph
  Child<BatchNorm> norm1, norm2, norm3;  ///< of the local layer, of the attention, of the network
  Child<Linear> first, second;           ///< the network, width -> 2 width -> width, relu between

 protected:
  GPSLayer(int64_t width, const GPSConvOptions& options);
  /// The layer's output for that of its local layer.
  Var combined(const Var& local, const Relation& pairs, const Var& x) const;

 private:
  float p_;
};

/// A layer of a graph transformer (Rampášek et al., Recipe for a General, Powerful, Scalable Graph
/// Transformer, 2022, section 3.3; PyG's GPSConv with batch norm): h = norm(x + dropout(conv(x))) + norm(x +
/// dropout(attention(x))), attention between all nodes of a graph, and norm(h + network(h)). `Conv` is any
/// layer that maps [N, width] to [N, width]: `GPSConv<GCNConv> layer(64, {.heads = 4}, 64, 64)`.
template <class Conv>
class GPSConv : public GPSLayer {
 public:
  /// `args` construct the local layer.
  template <class... Args>
  GPSConv(int64_t width, const GPSConvOptions& options, Args&&... args)
      : GPSLayer(width, options), conv(this, "conv", std::forward<Args>(args)...) {}
  /// `pairs`: all_pairs() of the graphs; x [N, width] -> [N, width].
  Var operator()(const Structure& structure, const Relation& pairs, const Var& x) const {
    return combined(conv(structure, x), pairs, x);
  }

  Child<Conv> conv;  ///< over the edges
};

}  // namespace adj::nn
