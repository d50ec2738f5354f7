#include <adjoint/training/loader.h>
#include <adjoint/training/mini_batches.h>
#include <adjoint/training/ranks.h>

namespace adj::training {

namespace {

/// The rows of the whole graph that one rank of several computes; its evaluations are of all rows.
class RankRowsOfGraph : public Batches<NodeBatch> {
 public:
  RankRowsOfGraph(const Run& run, models::NodeModel& model)
      : run_(run),
        part_(*run.part()),
        model_(model),
        objective_(run.objective().rows(part_.rows().begin(), part_.rows().end(), part_.device())),
        validated_(part_.places_of(run.examples().val)),
        batch_{.graph = part_.graph(),
               .blocks = {},
               .x = part_.rows_of(run.task().features),
               .y = objective_.targets(),
               .index = part_.places_of(run.examples().train)},
        validation_([this] { return validation(); }, {.capture = constant()}) {}

  std::unique_ptr<Pass<NodeBatch>> pass(int64_t /*done*/) override {
    return std::make_unique<SinglePass<NodeBatch>>(batch_);
  }
  bool constant() const override {
    return !run_.settings().compute.no_capture && part_.rows().group.capturable();
  }
  Evaluation validate() override {
    const Tensor loss = validation_();
    return {loss, part_.gather(outputs_)};
  }
  Tensor outputs() override { return outputs_of(batch_); }
  Tensor outputs_for(const Features& x) override {
    NodeBatch other = batch_;
    other.x = part_.rows_of(x);
    return outputs_of(other);
  }
  Tensor embeddings() override {
    const Tensor rows = embeddings_of(model_, batch_.graph, batch_.x);
    return rows ? part_.gather(rows) : rows;
  }

 private:
  Var evaluated(const NodeBatch& batch) {
    model_.eval();
    const Var out = batch.forward(model_);
    model_.train();
    return out;
  }
  Tensor outputs_of(const NodeBatch& batch) {
    const NoGrad no_grad;
    return part_.gather(objective_.output(evaluated(batch).value()));
  }
  Var validation() {
    const NoGrad no_grad;
    const Var out = evaluated(batch_);
    outputs_ = objective_.output(out.value());
    return objective_.loss(out, validated_);
  }

  const Run& run_;
  const RankPart& part_;
  models::NodeModel& model_;
  const Objective objective_;
  const Tensor validated_;
  NodeBatch batch_;
  optim::CapturedStep validation_;
  Tensor outputs_;  // of this rank's rows
};

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
    return run_.objective().output(evaluated(batch_).value());
  }
  Tensor outputs_for(const Features& x) override {
    const NoGrad no_grad;
    NodeBatch other = batch_;
    other.x = x;
    return run_.objective().output(evaluated(other).value());
  }
  Tensor embeddings() override { return embeddings_of(model_, batch_.graph, batch_.x); }

 private:
  Var evaluated(const NodeBatch& batch) {
    model_.eval();
    const Var out = batch.forward(model_);
    model_.train();
    return out;
  }

  // Captured on a GPU like the training step; then the outputs' tensor is the same each time.
  Var validation() {
    const NoGrad no_grad;
    const Var out = evaluated(batch_);
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

Tensor over_all_nodes(const Run& run, models::NodeModel& model, const Features& x) {
  const LearningTask& task = run.task();
  const BatchOptions& batches = run.settings().batches;
  if (x) return model(task.data.graph, x).value();
  if (batches.loader == "none" || batches.evaluation != EvaluationMethod::layers)
    return model(task.data.graph, task.features).value();
  return layer_by_layer(model, task.data.graph, task.store, run.layer_wise());
}

Tensor embeddings_of(models::NodeModel& model, const Graph& graph, const Features& x) {
  if (!x || !model.has_embeddings()) return {};
  const NoGrad no_grad;
  model.eval();
  const Tensor embeddings = model.embeddings(graph, x).value();
  model.train();
  return embeddings;
}

std::unique_ptr<Batches<NodeBatch>> node_batches(const Run& run, models::NodeModel& model) {
  if (run.part() != nullptr && !run.part()->of_batches())
    return std::make_unique<RankRowsOfGraph>(run, model);
  if (const std::shared_ptr<LoaderChoice> loader = run.settings().batches.chosen())
    return loader->batches(run, model);
  return std::make_unique<WholeGraph>(run, model);
}

}  // namespace adj::training
