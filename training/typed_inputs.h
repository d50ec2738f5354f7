#pragma once

#include <adjoint/data/joint_dataset.h>
#include <adjoint/models/training_types.h>
#include <adjoint/training/task.h>

// Datasets of several types of nodes, for training and prediction.

namespace adj::training {

struct LinkOptions;

/// The dataset read from `path`, of version 1 as one type with one relation, which is said; an empty path is
/// the demo dataset. With --features file those of all types are left in it; throws UsageError without one.
TypedDataset load_types(const std::string& path, const BatchOptions& batches);

/// What a model keeps of the types: fits the --features-scaling of each (of the target to its rows `train`,
/// if there are any, of others to all rows), scales the features and makes sparse ones dense. Says types,
/// relations and what is left out.
std::shared_ptr<models::TrainingTypes> prepare_types(const Settings& settings, TypedDataset& data,
                                                     const GraphSchema& schema, const std::string& file,
                                                     const Tensor& train = {});

/// The task of a training on the joint graph of --data: fits the --features-scaling of each type (the
/// target's to its training rows, others' to all rows), and says types, relations, what reads the features as
/// what, and what is left out.
LearningTask typed_node_task(const Settings& settings);
/// The task of a training on links of one relation of --data, `relation`, or "auto", the only one that is no
/// reverse (training/links.h).
LearningTask typed_link_task(const Settings& settings, const LinkOptions& links);

/// A dataset prepared for a model of several types.
struct MatchedTypes {
  Dataset joint;   ///< graph and scaled features, of the training's types
  Dataset target;  ///< the target's nodes, with labels, splits and names, without edges
  Tensor rows;     ///< int32: of the outputs for `joint`, one per node of the target types, in turn
  /// Of a model of links. `target` has their sources, and if their targets are of another type, they are
  /// here.
  std::optional<Dataset> link_targets = {};
  Graph links = {};       ///< of the target types' nodes, in turn: the edges that the model predicts
  Dataset embedded = {};  ///< all those nodes, with the names of their embeddings

  /// Those rows.
  Tensor of_target(const Tensor& outputs) const;
  /// Number of the first target of links: 0 if they are of the sources' type.
  int64_t first_target() const { return link_targets ? target.num_nodes() : 0; }
};
/// The dataset, read from `file`, for a model trained on several types: types of nodes and edges, columns and
/// nodes with embeddings are matched by name, reverse relations are added as in the training, and what it
/// does not take is said. Throws DataError naming a type, column or node that is missing or, of nodes with
/// embeddings, unknown.
MatchedTypes match_types(TypedDataset dataset, const std::string& file, const ModelDescription& model);

}  // namespace adj::training
