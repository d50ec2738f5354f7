#pragma once

#include <adjoint/models/family.h>
#include <adjoint/nn/linear.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace adj::models {

/// A model of pairs of nodes: a NodeModel embeds the nodes, and a decoder takes the embeddings of two.
class PairModel : public Model {
 public:
  explicit PairModel(std::unique_ptr<NodeModel> encoder) : encoder_(this, "encoder", std::move(encoder)) {}

  NodeModel& encoder() const { return *encoder_; }  ///< embeds the nodes; owned by this model
  bool exact_by_layers() const override { return encoder_->exact_by_layers(); }
  EdgeSupport edge_support() const override { return encoder_->edge_support(); }

 private:
  nn::Owned<NodeModel> encoder_;
};

std::vector<std::string> encoder_names();              ///< of graphs of one type: "gcn", "sage" and "gat"
std::vector<std::string> typed_encoder_names();        ///< of several types: "rgcn", "rgat" and "hgt"
std::vector<ModelOption> encoder_options();            ///< of the first, and --embedding, their width
ModelFamily encoder_family(const std::string& model);  ///< of the encoder with this name
/// Throws UsageError if these options of a model of pairs are out of range.
void check_encoder(const ModelOptions& options);
/// Width of the embeddings: LinkModelOptions::embedding, or the hidden layers'.
int64_t embedding_width(const ModelOptions& options);

/// Link prediction: a NodeModel embeds the nodes, a decoder scores pairs. "dot": inner product; "mlp":
/// two-layer MLP on the elementwise product (as in the Open Graph Benchmark's examples). Both are symmetric.
class LinkModel : public PairModel {
 public:
  /// `width`: features of the encoder's output.
  LinkModel(std::unique_ptr<NodeModel> encoder, int64_t width, const ModelOptions& options);

  /// [P, 1]: logits of the edges of `pairs`, from embeddings `z` of the nodes. Memory grows with the pairs
  /// for "dot", with pairs times width for "mlp".
  Var scores(const Var& z, const Relation& pairs) const;
  /// The same without gradient, for any number of pairs: "mlp" works in chunks.
  Tensor scores_of_all(const Tensor& z, const Relation& pairs) const;
  std::string describe() const override;

 private:
  Var by_mlp(const Var& z, const Tensor& src, const Tensor& dst) const;

  std::optional<nn::Child<nn::MLP>> mlp_;
};

}  // namespace adj::models
