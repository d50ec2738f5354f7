#include "feature_place.h"
#include "links.h"
#include <adjoint/data/loader/link_loader.h>
#include <adjoint/kernels/elementwise/elementwise.h>

namespace adj::apps {

namespace {

Relation relation_of(int64_t nodes, const EdgeIndex& pairs) {
  return Relation::from_coo(nodes, nodes, pairs.src, pairs.dst);
}

/// What both ways have in common: which pairs are trained on, and how all examples are scored.
class LinkEpochs : public Epochs {
 public:
  LinkEpochs(const Training& training, optim::NonFiniteMonitor* losses)
      : training_(training),
        model_(dynamic_cast<LinkModel&>(training.model)),
        losses_(losses),
        examples_(relation_of(training.data.num_nodes(), training.examples.pairs)),
        train_{detail::gather_edges(training.examples.pairs.src, training.examples.train),
               detail::gather_edges(training.examples.pairs.dst, training.examples.train)} {}

  Evaluation validate() override {
    const NoGrad no_grad;
    const Var out(scores());
    return {training_.objective.loss(out, training_.examples.val).value(),
            training_.objective.output(out.value())};
  }
  Tensor outputs() override { return training_.objective.output(scores()); }

 protected:
  /// Of all nodes, in the model's mode.
  virtual Tensor embeddings() { return model_.encoder()(training_.data.graph, training_.features).value(); }

  const Training training_;
  LinkModel& model_;
  optim::NonFiniteMonitor* losses_;
  const Relation examples_;
  const EdgeIndex train_;

 private:
  Tensor scores() {
    const NoGrad no_grad;
    model_.eval();
    Tensor all = model_.scores_of_all(embeddings(), examples_);
    model_.train();
    return all;
  }
};

/// All pairs in one step. The host draws the pairs beside them, so that a GPU does not record it.
class AllLinks : public LinkEpochs {
 public:
  AllLinks(const Training& training, optim::NonFiniteMonitor* losses) : LinkEpochs(training, losses) {
    const int64_t joined = train_.src.numel(), drawn = joined * training.settings.negatives;
    label_ = Tensor::zeros({joined + drawn, 1}, DType::f32, training.data.device());
    label_.rows(0, joined).fill_(1.0);
  }

  Tensor train(int64_t done) override {
    const Graph& graph = training_.data.graph;
    const int64_t joined = train_.src.numel();
    Generator generator = Generator(static_cast<uint64_t>(training_.seed)).split(static_cast<uint64_t>(done));
    const EdgeIndex drawn = negative_sampling(graph, label_.size(0) - joined, generator, {.repeated = true});
    const auto both = [&](const Tensor& known, const Tensor& absent) {
      Tensor all = Tensor::empty({label_.size(0)}, DType::i32, known.device());
      all.rows(0, joined).copy_(known);
      all.rows(joined, all.numel()).copy_(absent);
      return all;
    };
    const Relation pairs =
        relation_of(graph.num_nodes(), {both(train_.src, drawn.src), both(train_.dst, drawn.dst)});
    const Var z = model_.encoder()(graph, training_.features);
    Var loss = bce_with_logits(model_.scores(z, pairs), label_);
    if (losses_ != nullptr) losses_->add(loss.value());
    loss.backward();
    training_.optimizer.step();
    return loss.value();
  }

 private:
  Tensor label_;
};

class LinkBatches : public LinkEpochs {
 public:
  LinkBatches(const Training& training, optim::NonFiniteMonitor* losses)
      : LinkEpochs(training, losses),
        loader_(training.data.graph, training.source, train_,
                {.sampling = {.fanouts = fanouts_of(training.settings),
                              .replace = training.settings.replace,
                              .weighted = training.settings.weighted_sampling,
                              .labor = training.settings.labor},
                 .negatives = training.settings.negatives,
                 .loading = {.batch_size = training.settings.batch_size,
                             .shuffle = true,
                             .seed = static_cast<uint64_t>(training.seed),
                             .workers = num_workers(training.settings)}}) {}

  Tensor train(int64_t done) override {
    Tensor total = Tensor::zeros({}, DType::f32, training_.data.device());
    for (const LinkBatch& batch : loader_.epoch(done)) {
      const Var z = model_.encoder()(batch.blocks, batch.x);
      const Var scores = model_.scores(z, relation_of(batch.nodes.numel(), batch.pairs));
      Var loss = bce_with_logits(scores, batch.label.reshape({batch.size(), 1}));
      const double share = static_cast<double>(batch.positives) / static_cast<double>(loader_.num_pairs());
      kernels::linear_combination({.a = total, .beta = share, .b = loss.value(), .y = total});
      loss.backward();
      training_.optimizer.step();
    }
    if (losses_ != nullptr) losses_->add(total);
    return total;
  }

 private:
  Tensor embeddings() override {
    if (training_.settings.evaluation == "graph") return LinkEpochs::embeddings();
    return layer_by_layer(layered(model_.encoder()), training_.data.graph, training_.source,
                          training_.settings);
  }

  LinkLoader loader_;
};

}  // namespace

std::unique_ptr<Epochs> link_epochs(const Training& training, optim::NonFiniteMonitor* losses) {
  if (training.settings.loader == "neighbor") return std::make_unique<LinkBatches>(training, losses);
  return std::make_unique<AllLinks>(training, losses);
}

}  // namespace adj::apps
