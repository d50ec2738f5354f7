#pragma once

#include "epochs.h"
#include "run.h"

namespace adj::training {

/// Base class of epochs that are not full-batch: evaluation, and the sum of losses over batches.
class SampledEpochs : public Epochs {
 public:
  /// Throws UsageError for --evaluation layers if the model cannot run exactly layer by layer.
  SampledEpochs(const Run& run, models::Model& model);
  Evaluation validate() override;
  Tensor outputs() override;

 protected:
  /// Raw outputs for all examples, without gradients.
  virtual Tensor computed() = 0;
  /// [N, outputs] of a model for all nodes, full-batch or layer by layer (--evaluation).
  Tensor over_all_nodes(models::NodeModel& model) const;
  /// A sum of losses: 0, on the device.
  Tensor no_loss() const;
  /// sum += share * loss.
  static void add_loss(Tensor& sum, double share, const Var& loss);

  const Run& run_;

 private:
  Tensor in_evaluation();

  models::Model& evaluated_;
};

/// Base class of mini-batch epochs of a model of nodes. Each loader's epochs derive from it.
class BatchEpochs : public SampledEpochs {
 public:
  BatchEpochs(const Run& run, models::NodeModel& model, NodeStep step)
      : SampledEpochs(run, model), model_(model), step_(std::move(step)) {}

 protected:
  Tensor computed() override { return over_all_nodes(model_); }

  models::NodeModel& model_;
  const NodeStep step_;
};

}  // namespace adj::training
