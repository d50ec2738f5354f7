#include <adjoint/data/loader/link_loader.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/training/edges.h>
#include <adjoint/training/mini_batches.h>

namespace adj::training {

void EdgeOptions::add_to(Options& o) {
  o.batches.loaders = {neighbor};
  o.things = "edges";
}

Examples edge_examples(const Dataset& data, const std::string& file, const std::string& program) {
  if (!is_of_edges(data.task))
    data_fail(
        "{}: attribute task: {}, {} trains edge_class and edge_regression (convert edges --edge-label "
        "COLUMN)",
        file, name_of(data.task), program);
  return {.things = "edges",
          .task = std::string(name_of(data.task)),
          .labels = labels_of(data.task),
          .outputs = outputs_of(data),
          .y = data.edge_y,
          .unlabelled = data.unlabelled,
          .splits = expected_splits(data, file)};
}

LearningTask edge_task(const Settings& settings) {
  const Dataset data = load_data(settings);
  return {settings, data, edge_examples(data, file_of(settings, data), settings.program())};
}

namespace {

/// Shared: the training edges and the outputs for all edges.
class LabelledEdges : public SampledBatches<EdgeStepBatch> {
 public:
  LabelledEdges(const Run& run, models::EdgeModel& model)
      : SampledBatches(run, model),
        model_(model),
        train_(chosen(run.examples().train)),
        y_(run.objective().targets()) {}
  Tensor embeddings() override {
    return in_evaluation([&] { return over_all_nodes(run_, model_.encoder()); });
  }

 protected:
  EdgeIndex chosen(const Tensor& edges) const {
    const EdgeIndex all = graph().edge_index();
    return {detail::gather_edges(all.src, edges), detail::gather_edges(all.dst, edges)};
  }
  const Graph& graph() const { return run_.task().data.graph; }
  /// Of the edges with these numbers; `nodes` and `ends` as in EdgeStepBatch.
  EdgeStepBatch batch(NodeBatch nodes, EdgeIndex ends, const Tensor& numbers) const {
    return {.nodes = std::move(nodes),
            .edges = std::move(ends),
            .attributes = model_.attributes_of(graph(), numbers),
            .y = detail::gather_edges(y_, numbers)};
  }

  const models::EdgeModel& model_;
  const EdgeIndex train_;

 private:
  Tensor computed(const Features& x) override {
    return model_.outputs_of_all(over_all_nodes(run_, model_.encoder(), x), graph());
  }

  const Tensor y_;
};

/// All training edges in one step.
class AllEdges : public LabelledEdges {
 public:
  AllEdges(const Run& run, models::EdgeModel& model)
      : LabelledEdges(run, model),
        batch_(batch({.graph = graph(), .blocks = {}, .x = run.task().features}, train_,
                     run.examples().train)) {}

  std::unique_ptr<Pass<EdgeStepBatch>> pass(int64_t) override {
    return std::make_unique<SinglePass<EdgeStepBatch>>(batch_);
  }

 private:
  const EdgeStepBatch batch_;
};

class LoadedEdges : public LabelledEdges {
 public:
  LoadedEdges(const Run& run, models::EdgeModel& model, NeighborSampling sampling)
      : LabelledEdges(run, model),
        loader_(graph(), run.task().store, train_,
                {.sampling = std::move(sampling),
                 .negatives = 0,
                 .exclude = false,
                 .loading = run.training_batches()}) {}

  std::unique_ptr<Pass<EdgeStepBatch>> pass(int64_t done) override {
    const auto edges = static_cast<double>(loader_.num_pairs());
    return loaded_pass<EdgeStepBatch>(loader_, done, [this, edges](const LinkBatch& loaded) {
      const Tensor numbers = detail::gather_edges(run_.examples().train, loaded.positions);
      return std::pair(batch({.graph = {}, .blocks = loaded.blocks, .x = loaded.x}, loaded.pairs, numbers),
                       static_cast<double>(loaded.positives) / edges);
    });
  }

 private:
  LinkLoader loader_;
};

}  // namespace

std::unique_ptr<Batches<EdgeStepBatch>> edge_batches(const Run& run, const EdgeOptions& options,
                                                     models::EdgeModel& model) {
  if (run.settings().batches.loader == "none") return std::make_unique<AllEdges>(run, model);
  return std::make_unique<LoadedEdges>(run, model, options.neighbor->sampling(run));
}

}  // namespace adj::training
