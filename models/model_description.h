#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/models/family.h>
#include <adjoint/models/preprocessing.h>

namespace adj {

/// Metadata of a trained model: what predictions need in addition to the weights, and its origin.
struct ModelDescription : models::Preprocessing {
  std::string program;               ///< that trained the model: "train_gcn"
  std::string name;                  ///< "GCN 1433-16-7"
  models::ModelOptions options;      ///< from which the model was built
  Task task = Task::none;            ///< none for a model of links
  int64_t num_features = 0;          ///< columns of x, without ModelOptions::positional
  int64_t num_outputs = 0;           ///< columns of the outputs; 1 for links
  Tensor target_mean, target_scale;  ///< float32 [T] of regression: a prediction is output * scale + mean
  int64_t graphs_at_once = 32;       ///< graphs per batch
  std::string origin;                ///< "train_gcn, epoch 66"
  /// Facts of the checkpoint about its training: "option.lr" and so on.
  std::map<std::string, std::string> facts;

  bool of_graphs() const { return is_of_graphs(task); }  ///< one row of outputs per graph
  bool of_edges() const { return is_of_edges(task); }    ///< one row of outputs per edge
  /// "nodes", "graphs", "edges" or "links".
  std::string_view things() const;
  /// `x`, or instead the features that the training made of its graph (--node-features). Throws for a graph
  /// that cannot have them: learned ones belong to the training's nodes.
  Features features(const Graph& graph, const Features& x) const;
  /// x [N, num_features] scaled and quantised as in training, on its device. Throws for another width.
  Features prepare(const Features& x) const;
  /// EdgeInputs::apply(). Throws, naming the origin, for edges that lack what the model was trained with.
  Graph prepare(const Graph& graph) const;
  /// float32 outputs from the model's raw ones. Throws if they are not finite.
  Tensor finish(const Tensor& raw) const;
};

namespace detail {

/// The family of a checkpoint's model. Throws DataError for a program that trains no model.
models::ModelFamily family_of(const models::Checkpoint& checkpoint);
/// From a training's checkpoint, on the CPU, without the name. Throws DataError naming what is missing or
/// wrong.
ModelDescription description_of(const models::Checkpoint& checkpoint);

}  // namespace detail

}  // namespace adj
