#include <adjoint/training/loader.h>
#include <adjoint/training/mini_batches.h>

namespace adj::training {

namespace {

class WholeGraph : public Batches<NodeBatch> {
 public:
  WholeGraph(const Run& run, models::NodeModel& model)
      : run_(run),
        model_(model),
        edges_(run.task().edges ? &*run.task().edges : nullptr),
        batch_{.graph = edges_ ? edges_->graph() : run.task().data.graph,
               .blocks = {},
               .x = run.task().features,
               .y = run.objective().targets(),
               .index = run.examples().train},
        validation_([this] { return validation(); }, {.capture = constant()}) {}

  std::unique_ptr<Pass<NodeBatch>> pass(int64_t /*done*/) override {
    if (edges_ != nullptr) {
      batch_.graph = Graph();  // with all derived structures
      batch_.graph = edges_->graph();
    }
    return std::make_unique<SinglePass<NodeBatch>>(batch_);
  }
  /// Not for edge lists: the host reads back their range check and the sizes of derived structures.
  bool constant() const override { return !run_.settings().compute.no_capture && edges_ == nullptr; }
  Evaluation validate() override {
    const Tensor loss = validation_();
    return {loss, outputs_};
  }
  Tensor outputs() override {
    const NoGrad no_grad;
    return run_.objective().output(evaluated().value());
  }

 private:
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
  optim::CapturedStep validation_;
  Tensor outputs_;
};

}  // namespace

Tensor over_all_nodes(const Run& run, models::NodeModel& model) {
  const LearningTask& task = run.task();
  const BatchOptions& batches = run.settings().batches;
  if (batches.loader == "none" || batches.evaluation != EvaluationMethod::layers)
    return model(task.data.graph, task.features).value();
  return layer_by_layer(model, task.data.graph, task.store, run.layer_wise());
}

std::unique_ptr<Batches<NodeBatch>> node_batches(const Run& run, models::NodeModel& model) {
  if (const std::shared_ptr<LoaderChoice> loader = run.settings().batches.chosen())
    return loader->batches(run, model);
  return std::make_unique<WholeGraph>(run, model);
}

}  // namespace adj::training
