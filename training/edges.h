#pragma once

#include <adjoint/models/edge.h>
#include <adjoint/training/loader.h>
#include <adjoint/training/task.h>

// Training of edge classification and regression.

namespace adj::training {

/// Options of a program whose model predicts the labels of edges. `neighbor`: its only loader, never null.
struct EdgeOptions {
  std::shared_ptr<NeighborLoading> neighbor = std::make_shared<NeighborLoading>();

  /// Adds the loader to a program's options.
  void add_to(Options& options);
};

/// The labelled edges of a dataset, by edge number. Throws DataError if it is of another task, naming what
/// `program` needs.
Examples edge_examples(const Dataset& data, const std::string& file, const std::string& program);

/// The task of a training on labels of edges. The graph keeps all its edges, whose labels are no inputs.
LearningTask edge_task(const Settings& settings);

/// Edges of one training step.
struct EdgeStepBatch {
  NodeBatch nodes;    ///< input for the embeddings of their nodes
  EdgeIndex edges;    ///< rows of the embeddings
  Tensor attributes;  ///< of these edges, as EdgeModel::outputs() takes them
  Tensor y;           ///< their labels
};

/// Each epoch trains on the labelled edges of the split: full-batch, or with --loader neighbor in batches of
/// --batch-size edges and the sampled neighbourhoods of their nodes.
std::unique_ptr<Batches<EdgeStepBatch>> edge_batches(const Run& run, const EdgeOptions& options,
                                                     models::EdgeModel& model);

}  // namespace adj::training
