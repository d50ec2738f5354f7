#pragma once

#include "model.h"
#include "options.h"
#include <adjoint/nn/mlp.h>

#include <memory>
#include <optional>

namespace adj::models {

/// Embeddings of nodes by a model of nodes, and of a pair's two what says how likely an edge joins it:
/// decoder "dot" their inner product, "mlp" a two-layer MLP of their elementwise product (as the Open Graph
/// Benchmark's examples have it). Either is the same in both directions.
class LinkModel : public Model {
 public:
  /// The encoder gives `width` numbers a node.
  LinkModel(std::unique_ptr<NodeModel> encoder, int64_t width, const ModelOptions& options);

  NodeModel& encoder() const { return *encoder_; }
  /// [P, 1]: a logit for each pair, an edge of `pairs`, of embeddings `z` of its nodes. An inner product
  /// takes memory by pairs alone, an MLP by pairs times the width.
  Var scores(const Var& z, const Relation& pairs);
  /// Likewise without gradient, of any number of pairs: an MLP takes some after the other.
  Tensor scores_of_all(const Tensor& z, const Relation& pairs);
  std::string describe() const override;

 private:
  Var by_mlp(const Var& z, const Tensor& src, const Tensor& dst);

  nn::Owned<NodeModel> encoder_;
  std::optional<nn::Child<nn::MLP>> mlp_;
};

}  // namespace adj::models
