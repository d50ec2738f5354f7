#pragma once

#include "epochs.h"

namespace adj::apps {

/// Epochs over mini-batches: evaluations of all nodes, which go layer by layer or over the whole graph, as
/// --evaluation says. A loader's own epochs derive from it.
class BatchEpochs : public Epochs {
 public:
  BatchEpochs(const Training& training, optim::NonFiniteMonitor* losses);
  Evaluation validate() override;
  Tensor outputs() override;

 protected:
  const Training training_;
  NodeModel& model_;
  optim::NonFiniteMonitor* losses_;  // or null

 private:
  Tensor logits();
};

}  // namespace adj::apps
