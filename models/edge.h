#pragma once

#include <adjoint/models/link.h>
#include <adjoint/nn/linear.h>

namespace adj::models {

/// Classification and regression of edges: an MLP of two layers takes the embeddings of an edge's source and
/// target and its attributes, one after the other, in this order, so that an edge and its reverse may differ
/// (the edge predictor of DGL's guide, section 5.2, with attributes). Its first layer is computed per node
/// and added per edge: W [h_s, h_t, a] = W_s h_s + W_t h_t + W_a a.
class EdgeModel : public PairModel {
 public:
  /// `width`: features of the encoder's output.
  EdgeModel(std::unique_ptr<NodeModel> encoder, int64_t width, int64_t outputs, const ModelOptions& options);

  /// The decoder takes attributes, whatever the encoder does.
  EdgeSupport edge_support() const override;
  /// [P, outputs] from embeddings `z` of the nodes, for edges from src[p] to dst[p], int32 [P], with the
  /// attributes [P, edge_dim], absent for a model without. Memory grows with the edges times the hidden
  /// width.
  Var outputs(const Var& z, const EdgeIndex& edges, const Tensor& attributes) const;
  /// The same without gradient, for every edge of a graph with attribute "attr", by edge number; in chunks.
  Tensor outputs_of_all(const Tensor& z, const Graph& graph) const;
  /// Of the edges `index` (int32 [K]; absent: all) of a graph, their attributes; absent for a model without.
  Tensor attributes_of(const Graph& graph, const Tensor& index = {}) const;
  std::string describe() const override;

 private:
  int64_t edge_dim_;
  float dropout_;
  nn::Child<nn::Linear> source_, target_;
  std::optional<nn::Child<nn::Linear>> attributes_;
  nn::Child<nn::Linear> output_;
};

}  // namespace adj::models
