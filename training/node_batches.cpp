#include <adjoint/training/loader.h>
#include <adjoint/training/mini_batches.h>
#include <adjoint/training/ranks.h>

namespace adj::training {

namespace {

/// The whole graph, or the rows of it that one rank of several computes; evaluations are of all rows.
class WholeGraph : public Batches<NodeBatch> {
 public:
  WholeGraph(const Run& run, models::NodeModel& model)
      : run_(run),
        part_(run.part()),
        model_(model),
        edges_(run.task().edges ? &*run.task().edges : nullptr),
        objective_(part_ ? run.objective().rows(part_->rows().begin(), part_->rows().end(), part_->device())
                         : run.objective()),
        validated_(places(run.examples().val)),
        batch_{
            .graph = part_    ? part_->graph()
                     : edges_ ? edges_->graph()
                              : run.task().data.graph,
            .blocks = {},
            .x = part_ ? part_->features_of(run.task(), run.settings().compute.dtype()) : run.task().features,
            .y = objective_.targets(),
            .index = places(run.examples().train)},
        validation_([this] { return validation(); }, {.capture = constant() && holds_outputs()}) {}

  std::unique_ptr<Pass<NodeBatch>> pass(int64_t /*done*/) override {
    if (edges_ != nullptr) {
      batch_.graph = Graph();  // with all derived structures
      batch_.graph = edges_->graph();
    }
    return std::make_unique<SinglePass<NodeBatch>>(batch_);
  }
  /// Not for edge lists: the host reads back their range check and the sizes of derived structures.
  bool constant() const override {
    return !run_.settings().compute.no_capture && edges_ == nullptr &&
           (part_ == nullptr || part_->rows().group.capturable());
  }
  Evaluation validate() override {
    const Tensor loss = validation_();
    const Tensor outputs = outputs_;
    if (!holds_outputs()) outputs_ = {};  // may be as large as all that a step keeps
    return {loss, gathered(outputs)};
  }
  Tensor outputs() override { return outputs_of(batch_); }
  Tensor outputs_for(const Features& x) override {
    NodeBatch other = batch_;
    other.x = rows(x);
    return outputs_of(other);
  }
  Tensor embeddings() override { return gathered(embeddings_of(model_, batch_.graph, batch_.x)); }

 private:
  Features rows(const Features& all) const { return part_ != nullptr ? part_->rows_of(all) : all; }
  Tensor places(const Tensor& index) const { return part_ != nullptr ? part_->places_of(index) : index; }
  /// On all ranks, of the examples, which are the first nodes.
  Tensor gathered(const Tensor& x) const {
    return part_ != nullptr && x ? part_->gather(x).rows(0, run_.examples().size()) : x;
  }

  /// Whether outputs may stay in memory between validations, as they do if these are captured.
  bool holds_outputs() const { return run_.examples().size() * run_.examples().outputs <= kMostHeld; }

  Var evaluated(const NodeBatch& batch) {
    model_.eval();
    const Var out = batch.forward(model_);
    model_.train();
    return out;
  }
  Tensor outputs_of(const NodeBatch& batch) {
    const NoGrad no_grad;
    return gathered(objective_.output(evaluated(batch).value()));
  }

  // Captured on a GPU like the training step; then the outputs' tensor is the same each time.
  Var validation() {
    const NoGrad no_grad;
    const Var out = evaluated(batch_);
    outputs_ = objective_.output(out.value());
    return objective_.loss(out, validated_);
  }

  static constexpr int64_t kMostHeld = int64_t{1} << 24;  // numbers

  const Run& run_;
  const RankPart* part_;  // null: all rows
  models::NodeModel& model_;
  const EdgeList* edges_;
  const Objective objective_;  // of these rows
  const Tensor validated_;     // likewise
  NodeBatch batch_;            // its graph has no derived structures at the start of an inductive epoch
  optim::CapturedStep validation_;
  Tensor outputs_;  // of these rows
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
  if (const std::shared_ptr<LoaderChoice> loader = run.settings().batches.chosen())
    return loader->batches(run, model);
  return std::make_unique<WholeGraph>(run, model);
}

}  // namespace adj::training
