#pragma once

#include <adjoint/graph/joint_graph.h>
#include <adjoint/models/preprocessing.h>

#include <memory>
#include <optional>
#include <vector>

namespace adj::models {

/// What a model keeps of the types of its training's graph: predictions match types, columns and embedded
/// nodes by name.
struct TrainingTypes {
  /// What belongs to a type of nodes.
  struct Nodes {
    Preprocessing inputs = {.scaling = {},
                            .class_names = {}};  ///< scaling, columns and encoder of the features
    /// Names or ids (ItemTable) of nodes without features, whose embeddings belong to them; absent: numbers.
    Tensor names = {}, name_offsets = {}, ids = {};
  };
  GraphSchema schema;                 ///< with the counts of the training
  std::vector<Nodes> nodes;           ///< by type
  std::optional<EdgeType> link = {};  ///< of a model of links: the relation that it predicts

  /// Adds the tensors "types" (JSON: schema and kinds of scaling) and "types.K.…" of type K.
  void save(Checkpoint& checkpoint) const;
  /// Null for a checkpoint without. Throws DataError naming what is wrong.
  static std::shared_ptr<const TrainingTypes> load(const Checkpoint& checkpoint);
};

}  // namespace adj::models
