#pragma once

#include <adjoint/data/predictions.h>
#include <adjoint/graph/relation.h>
#include <adjoint/models/model_description.h>

#include <memory>
#include <optional>
#include <vector>

namespace adj {

/// A trained model with everything that predictions need: options, weights of the best epoch, preparation of
/// features, units of targets, class names. No file access after loading:
///
///   const TrainedModel gat = load_trained("gat.h5", Device::best());
///   const Predictions predictions = gat.predict(graph, Features(x));
///   predictions.prediction, predictions.probability, predictions.class_names …
///
/// Immutable: copies share the model, and all functions are thread-safe. Inputs may be on any device and are
/// moved to the model's, where results are unless a function says otherwise. Errors are adj::Error and name
/// what does not match. `origin`, `facts`, `task`, `scaling`, `quantization` and `feature_names` are those of
/// its `description`.
class TrainedModel {
 public:
  /// Read by load_trained(), or of a PyG state; program and name are the model's.
  struct Parts : ModelDescription {
    models::ModelFamily family;            ///< that built the model
    std::unique_ptr<models::Model> model;  ///< on its device, in its compute dtype
  };
  explicit TrainedModel(Parts parts);

  const ModelDescription& description() const { return *parts_; }
  /// "GCN 1433-16-7".
  std::string describe() const { return description().name; }
  const std::string& origin() const { return description().origin; }
  const models::ModelOptions& options() const { return description().options; }
  const std::map<std::string, std::string>& facts() const { return description().facts; }
  Task task() const { return description().task; }
  bool of_graphs() const;                                     ///< predict() needs offsets
  bool of_links() const;                                      ///< predict_links(), not predict()
  bool of_edges() const { return description().of_edges(); }  ///< predict() has a row per edge
  /// Graphs per batch in predict().
  int64_t graphs_at_once() const { return description().graphs_at_once; }
  /// Width of the features, and outputs per node or graph.
  int64_t num_features() const { return description().num_features; }
  int64_t num_outputs() const { return description().num_outputs; }  ///< classes, labels or targets
  const FeatureScaling& scaling() const { return description().scaling; }
  const FeatureQuantization& quantization() const { return description().quantization; }
  /// From the training's dataset; may be empty.
  const std::vector<std::string>& class_names() const { return description().class_names; }
  const std::vector<std::string>& feature_names() const { return description().feature_names; }
  Device device() const;

  /// Predictions for every node, graph or edge (by edge number), on the CPU; graph g has the nodes offsets[g]
  /// to offsets[g + 1], int64 [G + 1]. `x` [N, num_features()] is raw user data: dense, sparse, or quantised
  /// if the training did not scale features; absent if the training generated node features
  /// (--node-features). Of the edges' weights and their attribute "attr" the model takes what it was trained
  /// with, and no more. Throws for a model of another task, other widths, missing attributes, and results
  /// that are not finite.
  Predictions predict(const Graph& graph, const Features& x) const;
  Predictions predict(const Graph& graph, const Tensor& offsets, const Features& x) const;
  /// float32 [P]: logit of an edge for each pair of nodes (src[p], dst[p]), int32 [P]. For a model of links.
  Tensor predict_links(const Graph& graph, const Features& x, const EdgeIndex& pairs) const;
  /// float32 [N, width] or [G, width]: what the hidden layers make of every node or graph, the last layer's
  /// input; for a model of links or edges the nodes' embeddings that its decoder takes. Throws for a model
  /// without hidden layers.
  Tensor embeddings(const Graph& graph, const Features& x) const;
  Tensor embeddings(const Graph& graph, const Tensor& offsets, const Features& x) const;
  /// predict_links() from embeddings() of a model of links.
  Tensor score_links(const Tensor& embeddings, const EdgeIndex& pairs) const;
  /// The `most` pairs with the highest scores among pairs of two nodes that no edge of `graph` joins, in
  /// either direction; equal scores by source, then target. Each pair once, source < target. With `sources`:
  /// as many for each of these nodes, in turn, with it as the source. Fewer if there are no more. With
  /// `offsets` only pairs within one graph: graph g has the nodes offsets[g] to offsets[g + 1], int64 [G +
  /// 1]. With `first_target` pairs are of a node before it and one from it on, as of two types of nodes.
  ///
  /// Scores all these pairs: of one graph N (N - 1) / 2, or N for each source. Takes the memory of the
  /// embeddings and the result, and of one block of 65,536 pairs. Throws for scores that are not finite.
  LinkPredictions missing_links(const Tensor& embeddings, const Graph& graph, int64_t most,
                                const std::optional<std::vector<int32_t>>& sources = {},
                                const Tensor& offsets = {}, int64_t first_target = 0) const;
  /// How much each node attends to each of its neighbours, by a model of nodes, links or edges of attention
  /// layers (GAT, GATv2, Transformer, AGNN). Throws for others.
  AttentionWeights attention(const Graph& graph, const Features& x) const;
  /// The outputs behind predict(), float32 [N, outputs], [G, outputs] or [M, outputs]: logits, or for
  /// regression predictions in the targets' unit.
  Tensor outputs(const Graph& graph, const Features& x) const;
  Tensor outputs(const Graph& graph, const Tensor& offsets, const Features& x) const;

  /// For custom batching: the model in evaluation mode, its input features and graph (on its device), and
  /// float32 outputs, as in predict(), from the model's raw ones.
  models::Model& model() const { return *parts_->model; }
  Features prepare(const Features& x) const;
  /// The model's input features for a graph with these: prepared, with what the training made of its graph.
  Features inputs(const Graph& graph, const Features& x) const;
  /// The graph on its device, with the edge weights and attributes that the model takes.
  Graph prepare(const Graph& graph) const { return description().prepare(graph.to(device())); }
  Tensor finish(const Tensor& raw) const { return description().finish(raw); }  ///< float32 outputs

 private:
  std::shared_ptr<const Parts> parts_;
};

/// Reads a checkpoint written with --checkpoint, with the weights of its best epoch. Draws no random numbers,
/// so a training in another thread is not disturbed; takes memory in proportion to the file. Throws DataError
/// naming the file and what is missing or wrong in it.
TrainedModel load_trained(const std::string& checkpoint, Device device = Device::cpu());

}  // namespace adj
