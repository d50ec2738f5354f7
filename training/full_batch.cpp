#include "epochs.h"
#include "run.h"
#include <adjoint/optim/captured_step.h>

namespace adj::training {

namespace {

class FullBatch : public Epochs {
 public:
  FullBatch(const Run& run, models::NodeModel& model, NodeStep step)
      : run_(run),
        model_(model),
        edges_(run.task().edges ? &*run.task().edges : nullptr),
        batch_{.graph = edges_ ? edges_->graph() : run.task().data.graph,
               .blocks = {},
               .x = run.task().features,
               .y = run.objective().targets(),
               .index = run.examples().train},
        // Not captured for edge lists: the host reads back their range check and the sizes of derived
        // structures.
        step_([this, step = std::move(step)] { return train_on(step); }, {.capture = captures()}),
        validation_([this] { return validation(); }, {.capture = captures()}) {}

  Tensor train(int64_t /*done*/) override { return step_(); }
  Evaluation validate() override {
    const Tensor loss = validation_();
    return {loss, outputs_};
  }
  Tensor outputs() override {
    const NoGrad no_grad;
    return run_.objective().output(evaluated().value());
  }

 private:
  bool captures() const { return !run_.settings().compute.no_capture && edges_ == nullptr; }

  Var train_on(const NodeStep& step) {
    if (edges_ != nullptr) {
      batch_.graph = Graph();  // with all derived structures
      batch_.graph = edges_->graph();
    }
    return step(batch_);
  }

  Var evaluated() {
    model_.eval();
    const Var out = batch_.forward(model_);
    model_.train();
    return out;
  }

  // Captured on a GPU like the training step; then the outputs' tensor is the same each time.
  Var validation() {
    const NoGrad no_grad;
    const Var out = evaluated();
    outputs_ = run_.objective().output(out.value());
    return run_.objective().loss(out, run_.examples().val);
  }

  const Run& run_;
  models::NodeModel& model_;
  const EdgeList* edges_;
  NodeBatch batch_;  // its graph has no derived structures at the start of an inductive epoch
  optim::CapturedStep step_, validation_;
  Tensor outputs_;
};

}  // namespace

std::unique_ptr<Epochs> full_batch(const Run& run, models::NodeModel& model, NodeStep step) {
  return std::make_unique<FullBatch>(run, model, std::move(step));
}

}  // namespace adj::training
