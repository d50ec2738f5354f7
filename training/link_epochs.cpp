#include "batch_epochs.h"
#include "links.h"
#include "loader.h"
#include <adjoint/core/random.h>
#include <adjoint/data/loader/link_loader.h>
#include <adjoint/graph/sample/negative_sampling.h>

namespace adj::training {

namespace {

Relation relation_of(int64_t nodes, const EdgeIndex& pairs) {
  return Relation::from_coo(nodes, nodes, pairs.src, pairs.dst);
}

/// Shared: selection of training pairs and scoring of all examples.
class LinkEpochs : public SampledEpochs {
 public:
  LinkEpochs(const Run& run, models::LinkModel& model, LinkStep step)
      : SampledEpochs(run, model),
        step_(std::move(step)),
        train_{detail::gather_edges(run.examples().pairs.src, run.examples().train),
               detail::gather_edges(run.examples().pairs.dst, run.examples().train)},
        model_(model),
        examples_(relation_of(run.task().data.num_nodes(), run.examples().pairs)) {}

 protected:
  const LinkStep step_;
  const EdgeIndex train_;

 private:
  Tensor computed() override { return model_.scores_of_all(over_all_nodes(model_.encoder()), examples_); }

  models::LinkModel& model_;
  const Relation examples_;
};

/// All pairs in one step. Not captured on a GPU, as the host draws the negatives.
class AllLinks : public LinkEpochs {
 public:
  AllLinks(const Run& run, models::LinkModel& model, LinkStep step, int64_t negatives)
      : LinkEpochs(run, model, std::move(step)) {
    const int64_t positive = train_.src.numel();
    label_ = Tensor::zeros({positive * (1 + negatives), 1}, DType::f32, run.task().data.device());
    label_.rows(0, positive).fill_(1.0);
  }

  Tensor train(int64_t done) override {
    const Graph& graph = run_.task().data.graph;
    const int64_t positive = train_.src.numel();
    Generator generator = Generator(run_.seed()).split(static_cast<uint64_t>(done));
    const EdgeIndex drawn =
        negative_sampling(graph, label_.size(0) - positive, generator, {.repeated = true});
    const auto both = [&](const Tensor& known, const Tensor& absent) {
      Tensor all = Tensor::empty({label_.size(0)}, DType::i32, known.device());
      all.rows(0, positive).copy_(known);
      all.rows(positive, all.numel()).copy_(absent);
      return all;
    };
    const EdgeIndex pairs{both(train_.src, drawn.src), both(train_.dst, drawn.dst)};
    return step_({.nodes = {.graph = graph, .blocks = {}, .x = run_.task().features},
                  .pairs = relation_of(graph.num_nodes(), pairs),
                  .label = label_})
        .value();
  }

 private:
  Tensor label_;
};

class LinkBatches : public LinkEpochs {
 public:
  LinkBatches(const Run& run, models::LinkModel& model, LinkStep step, int64_t negatives,
              NeighborSampling sampling)
      : LinkEpochs(run, model, std::move(step)),
        loader_(
            run.task().data.graph, run.task().store, train_,
            {.sampling = std::move(sampling), .negatives = negatives, .loading = run.training_batches()}) {}

  Tensor train(int64_t done) override {
    Tensor total = no_loss();
    for (const LinkBatch& batch : loader_.epoch(done)) {
      const Var loss = step_({.nodes = {.graph = {}, .blocks = batch.blocks, .x = batch.x},
                              .pairs = relation_of(batch.nodes.numel(), batch.pairs),
                              .label = batch.label.reshape({batch.size(), 1})});
      add_loss(total, static_cast<double>(batch.positives) / static_cast<double>(loader_.num_pairs()), loss);
    }
    return total;
  }

 private:
  LinkLoader loader_;
};

}  // namespace

std::unique_ptr<Epochs> link_epochs(const Run& run, const LinkOptions& options, models::LinkModel& model,
                                    LinkStep step) {
  if (run.settings().batches.loader == "none")
    return std::make_unique<AllLinks>(run, model, std::move(step), options.negatives);
  return std::make_unique<LinkBatches>(run, model, std::move(step), options.negatives,
                                       options.neighbor->sampling(run.settings().model.layers));
}

}  // namespace adj::training
