#include <adjoint/core/random.h>
#include <adjoint/data/loader/link_loader.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/training/links.h>
#include <adjoint/training/mini_batches.h>

namespace adj::training {

namespace {

Relation relation_of(int64_t nodes, const EdgeIndex& pairs) {
  return Relation::from_coo(nodes, nodes, pairs.src, pairs.dst);
}

/// Shared: selection of training pairs and scoring of all examples.
class PairBatches : public SampledBatches<LinkStepBatch> {
 public:
  PairBatches(const Run& run, models::LinkModel& model)
      : SampledBatches(run, model),
        train_{detail::gather_edges(run.examples().pairs.src, run.examples().train),
               detail::gather_edges(run.examples().pairs.dst, run.examples().train)},
        model_(model),
        examples_(relation_of(run.task().data.num_nodes(), run.examples().pairs)) {}
  Tensor embeddings() override {
    return in_evaluation([&] { return over_all_nodes(run_, model_.encoder()); });
  }

 protected:
  const EdgeIndex train_;

 private:
  Tensor computed(const Features& x) override {
    return model_.scores_of_all(over_all_nodes(run_, model_.encoder(), x), examples_);
  }

  models::LinkModel& model_;
  const Relation examples_;
};

/// All pairs in one step. Not captured on a GPU, as the host draws the negatives.
class AllPairs : public PairBatches {
 public:
  AllPairs(const Run& run, models::LinkModel& model, int64_t negatives) : PairBatches(run, model) {
    const int64_t positive = train_.src.numel();
    label_ = Tensor::zeros({positive * (1 + negatives), 1}, DType::f32, run.task().data.device());
    label_.rows(0, positive).fill_(1.0);
  }

  std::unique_ptr<Pass<LinkStepBatch>> pass(int64_t done) override {
    const Graph& graph = run_.task().data.graph;
    const int64_t positive = train_.src.numel();
    Generator generator = Generator(run_.seed()).split(static_cast<uint64_t>(done));
    const EdgeIndex drawn = negative_sampling(graph, label_.size(0) - positive, generator,
                                              {.repeated = true, .undirected = true});
    const auto both = [&](const Tensor& known, const Tensor& absent) {
      Tensor all = Tensor::empty({label_.size(0)}, DType::i32, known.device());
      all.rows(0, positive).copy_(known);
      all.rows(positive, all.numel()).copy_(absent);
      return all;
    };
    const EdgeIndex pairs{both(train_.src, drawn.src), both(train_.dst, drawn.dst)};
    return std::make_unique<SinglePass<LinkStepBatch>>(
        LinkStepBatch{.nodes = {.graph = graph, .blocks = {}, .x = run_.task().features},
                      .pairs = relation_of(graph.num_nodes(), pairs),
                      .label = label_});
  }

 private:
  Tensor label_;
};

class LoadedPairs : public PairBatches {
 public:
  LoadedPairs(const Run& run, models::LinkModel& model, int64_t negatives, NeighborSampling sampling)
      : PairBatches(run, model),
        loader_(run.task().data.graph, run.task().store, train_,
                {.sampling = std::move(sampling),
                 .negatives = negatives,
                 .undirected = true,
                 .loading = run.training_batches()}) {}

  std::unique_ptr<Pass<LinkStepBatch>> pass(int64_t done) override {
    const auto pairs = static_cast<double>(loader_.num_pairs());
    return loaded_pass<LinkStepBatch>(loader_, done, [pairs](const LinkBatch& batch) {
      return std::pair(LinkStepBatch{.nodes = {.graph = {}, .blocks = batch.blocks, .x = batch.x},
                                     .pairs = relation_of(batch.nodes.numel(), batch.pairs),
                                     .label = batch.label.reshape({batch.size(), 1})},
                       static_cast<double>(batch.positives) / pairs);
    });
  }

 private:
  LinkLoader loader_;
};

}  // namespace

std::unique_ptr<Batches<LinkStepBatch>> link_batches(const Run& run, const LinkOptions& options,
                                                     models::LinkModel& model) {
  if (run.settings().batches.loader == "none")
    return std::make_unique<AllPairs>(run, model, options.negatives);
  return std::make_unique<LoadedPairs>(run, model, options.negatives,
                                       options.neighbor->sampling(run.settings().model.layers));
}

}  // namespace adj::training
