#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/block.h>
#include <adjoint/graph/features.h>
#include <adjoint/models/model.h>

#include <functional>
#include <memory>
#include <span>

namespace adj::training {

class Run;

/// Nodes to train on in one step, and what the model is computed over: a graph, the whole one or a part of
/// it, or one block a layer.
struct NodeBatch {
  Graph graph;
  std::span<const Block> blocks;
  Features x;          ///< of the graph's nodes, or of the first block's sources
  Tensor y = {};       ///< labels by row of the output
  Tensor index = {};   ///< rows to train on; absent: all
  Tensor weight = {};  ///< float32, of each of them in the loss; absent: all the same

  /// [rows, outputs] of the model, in its mode.
  Var forward(models::NodeModel& model) const { return blocks.empty() ? model(graph, x) : model(blocks, x); }
};

/// One training step: forward, loss, backward and the optimizer's. Returns the loss.
using NodeStep = std::function<Var(const NodeBatch&)>;

/// How the epochs of a run are computed: over the whole graph at once, or over mini-batches. An epoch depends
/// on the run's state and the epoch's number alone, so that a checkpoint at its end is enough to go on from.
class Epochs {
 public:
  /// Of all examples, in evaluation mode.
  struct Evaluation {
    Tensor loss;     ///< over the validation examples, a scalar
    Tensor outputs;  ///< [E, outputs], as Objective gives them
  };

  virtual ~Epochs() = default;
  /// Trains the epoch after the first `done`: its loss, the mean over the training examples, a scalar on the
  /// device.
  virtual Tensor train(int64_t done) = 0;
  /// May be overwritten by the next call.
  virtual Evaluation validate() = 0;
  /// The outputs alone.
  virtual Tensor outputs() = 0;
};

/// The epochs of a run that has begun, as --loader says: the whole graph in one step, which a GPU records,
/// or a step for each batch of the loader.
std::unique_ptr<Epochs> node_epochs(const Run& run, models::NodeModel& model, NodeStep step);
/// The whole graph in one step.
std::unique_ptr<Epochs> full_batch(const Run& run, models::NodeModel& model, NodeStep step);

}  // namespace adj::training
