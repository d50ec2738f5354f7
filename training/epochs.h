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

/// Nodes of one training step, and what the model runs on: a graph (whole or part), or one block per layer.
struct NodeBatch {
  Graph graph;
  std::span<const Block> blocks;
  Features x;          ///< of the graph's nodes, or of the first block's sources
  Tensor y = {};       ///< labels by row of the output
  Tensor index = {};   ///< rows to train on; absent: all
  Tensor weight = {};  ///< float32, loss weight of each of them; absent: all equal

  /// [rows, outputs] of the model, in its mode.
  Var forward(models::NodeModel& model) const { return blocks.empty() ? model(graph, x) : model(blocks, x); }
};

/// One training step: forward, loss, backward and optimizer step. Returns the loss.
using NodeStep = std::function<Var(const NodeBatch&)>;

/// How the epochs of a run are computed: full-batch or in mini-batches. An epoch depends only on the run's
/// state and the epoch's number, so a checkpoint at its end suffices to resume.
class Epochs {
 public:
  /// Over all examples, in evaluation mode.
  struct Evaluation {
    Tensor loss;     ///< over the validation examples, a scalar
    Tensor outputs;  ///< [E, outputs], as from Objective
  };

  virtual ~Epochs() = default;
  /// Trains the epoch after `done` ones: its mean loss over the training examples, a scalar on the device.
  virtual Tensor train(int64_t done) = 0;
  /// The result may be overwritten by the next call.
  virtual Evaluation validate() = 0;
  /// Only the outputs.
  virtual Tensor outputs() = 0;
};

/// The epochs of the current run according to --loader: full-batch steps, captured on a GPU, or a step per
/// batch of the loader.
std::unique_ptr<Epochs> node_epochs(const Run& run, models::NodeModel& model, NodeStep step);
/// Full-batch epochs.
std::unique_ptr<Epochs> full_batch(const Run& run, models::NodeModel& model, NodeStep step);

}  // namespace adj::training
