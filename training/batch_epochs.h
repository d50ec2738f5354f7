#pragma once

#include "epochs.h"
#include "run.h"

namespace adj::training {

/// Epochs over mini-batches: evaluations of all nodes, which go layer by layer or over the whole graph, as
/// --evaluation says. A loader's own epochs derive from it.
class BatchEpochs : public Epochs {
 public:
  BatchEpochs(const Run& run, models::NodeModel& model, NodeStep step);
  Evaluation validate() override;
  Tensor outputs() override;

 protected:
  const Run& run_;
  models::NodeModel& model_;
  const NodeStep step_;

 private:
  Tensor logits();
};

}  // namespace adj::training
