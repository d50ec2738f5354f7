#pragma once

#include <adjoint/data/joint_dataset.h>
#include <adjoint/models/training_types.h>
#include <adjoint/training/task.h>

// Datasets of several types of nodes, for training and prediction.

namespace adj::training {

/// The dataset read from `path`, of version 1 as one type with one relation, which is said; an empty path is
/// the demo dataset.
TypedDataset load_types(const std::string& path);

/// The task of a training on the joint graph of --data: fits the --features-scaling of each type (the
/// target's to its training rows, others' to all rows), and says types, relations, what reads the features as
/// what, and what is left out.
LearningTask typed_node_task(const Settings& settings);

/// A dataset prepared for a model of several types.
struct MatchedTypes {
  Dataset joint;   ///< graph and scaled features, of the training's types
  Dataset target;  ///< the target's nodes, with labels, splits and names, without edges
  Tensor rows;     ///< int32: of the outputs for `joint`, one per node of the target

  /// Those rows.
  Tensor of_target(const Tensor& outputs) const;
};
/// The dataset, read from `file`, for a model trained on several types: types of nodes and edges, columns and
/// nodes with embeddings are matched by name, reverse relations are added as in the training, and what it
/// does not take is said. Throws DataError naming a type, column or node that is missing or, of nodes with
/// embeddings, unknown.
MatchedTypes match_types(TypedDataset dataset, const std::string& file, const ModelDescription& model);

}  // namespace adj::training
