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
        // The host asks the device about an edge list (is it in range?) and sizes what is derived from it.
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
  bool captures() const { return !run_.options().compute.no_capture && edges_ == nullptr; }

  Var train_on(const NodeStep& step) {
    if (edges_ != nullptr) {
      batch_.graph = Graph();  // with all that was derived from it
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

  // Recorded once on a GPU, as the training step is: the outputs' tensor is then the same each time.
  Var validation() {
    const NoGrad no_grad;
    const Var out = evaluated();
    outputs_ = run_.objective().output(out.value());
    return run_.objective().loss(out, run_.examples().val);
  }

  const Run& run_;
  models::NodeModel& model_;
  const EdgeList* edges_;
  NodeBatch batch_;  // of whose graph nothing is derived at the beginning of an inductive epoch
  optim::CapturedStep step_, validation_;
  Tensor outputs_;
};

}  // namespace

std::unique_ptr<Epochs> full_batch(const Run& run, models::NodeModel& model, NodeStep step) {
  return std::make_unique<FullBatch>(run, model, std::move(step));
}

}  // namespace adj::training
