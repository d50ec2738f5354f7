#pragma once

#include "model_description.h"
#include <adjoint/data/predictions.h>
#include <adjoint/graph/relation.h>

#include <memory>

namespace adj {

/// A model that one of the programs trained, with all that its predictions need: options, weights of the best
/// epoch, how features are prepared, the unit of targets, the names of classes. It reads and writes no files
/// after it was loaded:
///
///   const TrainedModel gat = load_trained("gat.h5", Device::best());
///   const Predictions said = gat.predict(graph, Features(x));
///   said.prediction, said.probability, said.class_names …
///
/// Nothing in it changes: a copy shares the model, and any number of threads may call its functions at once.
/// Inputs may be on any device and go to the model's; results are on that one unless a function says
/// otherwise. Errors are adj::Error and name what does not fit.
class TrainedModel {
 public:
  /// What load_trained() and load_pyg() read; program and name are the model's.
  struct Parts : ModelDescription {
    models::ModelFamily family;
    std::unique_ptr<models::Model> model;  ///< on its device, in the dtype it computes in
  };
  explicit TrainedModel(Parts parts);

  const ModelDescription& description() const;
  /// "GCN 1433-16-7".
  std::string describe() const;
  const std::string& origin() const;
  const models::ModelOptions& options() const;
  const std::map<std::string, std::string>& facts() const;
  Task task() const;
  bool of_graphs() const;
  bool of_links() const;
  /// Graphs that predict() computes side by side.
  int64_t graphs_at_once() const;
  /// Columns of the features that it takes, and numbers that it gives for a node or graph.
  int64_t num_features() const;
  int64_t num_outputs() const;
  const FeatureScaling& scaling() const;
  const FeatureQuantization& quantization() const;
  /// Of the training's dataset; empty where that had none.
  const std::vector<std::string>& class_names() const;
  Device device() const;

  /// What it says of every node, or of every graph: graph g has the nodes offsets[g] to offsets[g + 1], int64
  /// [G + 1]. On the CPU. `x` [N, num_features()] as they are in the user's data, dense, sparse, or quantised
  /// where the training did not scale them; absent
  /// where the training made its own (--node-features). Throws for a model of something else, for other
  /// widths, and where a result is not finite.
  Predictions predict(const Graph& graph, const Features& x) const;
  Predictions predict(const Graph& graph, const Tensor& offsets, const Features& x) const;
  /// float32 [P]: a logit for each pair of nodes (src[p], dst[p]), int32 [P], that an edge joins it. Of a
  /// model of links.
  Tensor predict_links(const Graph& graph, const Features& x, const EdgeIndex& pairs) const;
  /// What predict() makes its result of, float32 [N, outputs] or [G, outputs]: logits, or for regression what
  /// is predicted, in the targets' unit.
  Tensor outputs(const Graph& graph, const Features& x) const;
  Tensor outputs(const Graph& graph, const Tensor& offsets, const Features& x) const;

  /// For those who compute in batches of their own: the model in evaluation mode, features as it takes them
  /// (on its device), and float32 outputs as predict() gives them, of what the model gave.
  models::Model& model() const;
  Features prepare(const Features& x) const;
  Tensor finish(const Tensor& raw) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

/// What a training wrote with --checkpoint, with the weights of the best epoch it had seen. Throws DataError
/// naming the file and what is missing or wrong in it.
TrainedModel load_trained(const std::string& checkpoint, Device device = Device::cpu());

}  // namespace adj
