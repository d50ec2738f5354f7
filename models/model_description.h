#pragma once

#include "family.h"
#include <adjoint/data/dataset.h>
#include <adjoint/data/feature_quantization.h>
#include <adjoint/data/feature_scaling.h>
#include <adjoint/models/checkpoint.h>

namespace adj {

/// All that is known of a trained model beside its weights: what its predictions need, and where it is from.
struct ModelDescription {
  std::string program;  ///< that trained it: "train_gcn"
  std::string name;     ///< "GCN 1433-16-7"
  models::ModelOptions options;
  Task task = Task::none;  ///< none of a model of links
  int64_t num_features = 0, num_outputs = 0;
  FeatureScaling scaling;            ///< of features
  FeatureQuantization quantization;  ///< of scaled ones
  Tensor target_mean, target_scale;  ///< float32 [T] of regression: a prediction is output * scale + mean
  std::vector<std::string> class_names;
  int64_t graphs_at_once = 32;  ///< graphs that are computed side by side
  std::string origin;           ///< "train_gcn, epoch 66"
  /// What the checkpoint says of its training, "option.lr" and the like.
  std::map<std::string, std::string> facts;

  bool of_graphs() const { return task == Task::graph_class || task == Task::graph_regression; }
  /// x [N, num_features] as the model takes them, on their device. Throws for another width.
  Features prepare(const Features& x) const;
  /// float32 outputs of what the model gave. Throws where they are not finite.
  Tensor finish(const Tensor& raw) const;
};

namespace detail {

/// Whose checkpoint it is. Throws DataError for a program that trains no model.
models::ModelFamily family_of(const optim::Checkpoint& checkpoint);
/// Of what a training wrote, but for the name, on the CPU. Throws DataError naming what is missing or wrong.
ModelDescription description_of(const optim::Checkpoint& checkpoint);

}  // namespace detail

}  // namespace adj
