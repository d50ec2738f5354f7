#include "epochs.h"
#include "feature_place.h"
#include <adjoint/data/loader/neighbor_loader.h>
#include <adjoint/kernels/elementwise/elementwise.h>

namespace adj::apps {

namespace {

class NeighborBatches : public Epochs {
 public:
  NeighborBatches(const Training& training, optim::FiniteWatch* losses)
      : training_(training),
        model_(training.node_model()),
        losses_(losses),
        loader_(training.data.graph, training.source, training.objective.targets(), training.examples.train,
                {.sampling = {.fanouts = fanouts_of(training.settings),
                              .replace = training.settings.replace,
                              .weighted = training.settings.weighted_sampling,
                              .labor = training.settings.labor},
                 .batch_size = training.settings.batch_size,
                 .shuffle = true,
                 .seed = static_cast<uint64_t>(training.seed),
                 .workers = static_cast<int>(training.settings.workers)}) {}

  Tensor train(int64_t done) override {
    Tensor total = Tensor::zeros({}, DType::f32, training_.data.device());
    for (const NeighborBatch& batch : loader_.epoch(done)) {
      Var loss = training_.objective.loss_of_batch(model_(batch.blocks, batch.x), batch.y);
      const double share = static_cast<double>(batch.size()) / static_cast<double>(loader_.num_seeds());
      kernels::linear_combination({.a = total, .beta = share, .b = loss.value(), .y = total});
      loss.backward();
      training_.optimizer.step();
    }
    if (losses_ != nullptr) losses_->add(total);
    return total;
  }

  Evaluation validate() override {
    const NoGrad no_grad;
    const Var out(logits());
    return {training_.objective.loss(out, training_.examples.val).value(),
            training_.objective.output(out.value())};
  }

  Tensor outputs() override { return training_.objective.output(logits()); }

 private:
  Tensor logits() {
    const NoGrad no_grad;
    model_.eval();
    const Tensor out =
        training_.settings.evaluation == "graph"
            ? model_(training_.data.graph, training_.features).value()
            : layer_by_layer(model_, training_.data.graph, training_.source, training_.settings);
    model_.train();
    return out;
  }

  const Training training_;
  NodeModel& model_;
  optim::FiniteWatch* losses_;
  NeighborLoader loader_;
};

}  // namespace

std::unique_ptr<Epochs> neighbor_batches(const Training& training, optim::FiniteWatch* losses) {
  return std::make_unique<NeighborBatches>(training, losses);
}

}  // namespace adj::apps
