#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/graph/block.h>
#include <adjoint/graph/features.h>
#include <adjoint/models/model.h>

#include <memory>
#include <optional>
#include <span>

namespace adj::training {

class Run;

/// Nodes of one training step, and what the model runs on: a graph (whole or part), or one block per layer.
struct NodeBatch {
  Graph graph;
  std::span<const Block> blocks;   ///< one per layer, of the loader's batch; empty: `graph`
  Features x;                      ///< of the graph's nodes, or of the first block's sources; absent: `store`
  Tensor y = {};                   ///< labels by row of the output
  Tensor index = {};               ///< rows to train on; absent: all
  Tensor weight = {};              ///< float32, loss weight of each of them; absent: all equal
  const FeatureStore* store = {};  ///< gathers `x` within the step
  bool placed = false;             ///< whether the batch is copied to the storage that all such batches have

  /// [rows, outputs] of the model, in its mode.
  Var forward(models::NodeModel& model) const {
    if (blocks.empty()) return model(graph, x);
    const Tensor& nodes = blocks.front().src_nodes();
    return model(blocks, store != nullptr ? store->gather(nodes, nodes.device()) : x);
  }
};

/// Of all examples, in evaluation mode.
struct Evaluation {
  Tensor loss;     ///< over the validation examples, a scalar
  Tensor outputs;  ///< [E, outputs], as from Objective
};

/// Evaluates a run's model.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// The result may be overwritten by the next call.
  virtual Evaluation validate() = 0;
  /// Only the outputs.
  virtual Tensor outputs() = 0;
  /// The outputs for other features of the nodes than the task's; absent if the model does not run on one
  /// graph.
  virtual Tensor outputs_for(const Features& /*x*/) { return {}; }
  /// [N, width]: embeddings of the nodes; absent for a model without, or features that are not on the device.
  virtual Tensor embeddings() { return {}; }
};

/// The batches of one epoch, in order, and the weights of their losses in its mean.
template <class Batch>
class Pass {
 public:
  virtual ~Pass() = default;
  /// The next batch, valid until the next call; null after the last.
  virtual const Batch* next() = 0;

  std::optional<double> weight;  ///< of this batch's loss; absent: it is the epoch's
  double total = 1.0;            ///< sum of all weights, after the last batch
};

/// What a run trains on: full-batch or mini-batches. A pass depends only on the run's state and the epoch's
/// number, so a checkpoint at an epoch's end suffices to resume.
template <class Batch>
class Batches : public Evaluator {
 public:
  /// The batches of the epoch after `done` ones.
  virtual std::unique_ptr<Pass<Batch>> pass(int64_t done) = 0;
  /// Whether all steps have the same batch in the same storage, and none is read by the host.
  virtual bool constant() const { return false; }
  /// Whether the steps of batches that say so (NodeBatch::placed) can be captured as one.
  virtual bool places() const { return false; }
};

/// The batches of the current run according to --loader: the whole graph, or those of the loader.
std::unique_ptr<Batches<NodeBatch>> node_batches(const Run& run, models::NodeModel& model);

}  // namespace adj::training
