#pragma once

#include <adjoint/models/model.h>
#include <adjoint/models/options.h>
#include <adjoint/nn/mlp.h>

#include <memory>
#include <optional>

namespace adj::models {

/// Link prediction: a NodeModel embeds the nodes, a decoder scores pairs. "dot": inner product; "mlp":
/// two-layer MLP on the elementwise product (as in the Open Graph Benchmark's examples). Both are symmetric.
class LinkModel : public Model {
 public:
  /// `width`: features of the encoder's output.
  LinkModel(std::unique_ptr<NodeModel> encoder, int64_t width, const ModelOptions& options);

  NodeModel& encoder() const { return *encoder_; }
  bool exact_by_layers() const override { return encoder_->exact_by_layers(); }
  EdgeSupport edge_support() const override { return encoder_->edge_support(); }
  /// [P, 1]: logits of the edges of `pairs`, from embeddings `z` of the nodes. Memory grows with the pairs
  /// for "dot", with pairs times width for "mlp".
  Var scores(const Var& z, const Relation& pairs) const;
  /// The same without gradient, for any number of pairs: "mlp" works in chunks.
  Tensor scores_of_all(const Tensor& z, const Relation& pairs) const;
  std::string describe() const override;

 private:
  Var by_mlp(const Var& z, const Tensor& src, const Tensor& dst) const;

  nn::Owned<NodeModel> encoder_;
  std::optional<nn::Child<nn::MLP>> mlp_;
};

}  // namespace adj::models
