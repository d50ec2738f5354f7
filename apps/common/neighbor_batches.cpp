#include "epochs.h"
#include <adjoint/data/loader/layer_wise.h>
#include <adjoint/data/loader/neighbor_loader.h>
#include <adjoint/kernels/elementwise/elementwise.h>

namespace adj::apps {

namespace {

class NeighborBatches : public Epochs {
 public:
  NeighborBatches(const Training& training, optim::FiniteWatch* losses)
      : training_(training),
        losses_(losses),
        loader_(training.data.graph, training.features, training.objective.targets(), training.data.train,
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
      Var loss = training_.objective.loss_of_batch(training_.model(batch.blocks, batch.x), batch.y);
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
    return {training_.objective.loss(out, training_.data.val).value(),
            training_.objective.output(out.value())};
  }

  Tensor outputs() override { return training_.objective.output(logits()); }

 private:
  Tensor logits() {
    const NoGrad no_grad;
    training_.model.eval();
    const Tensor out = training_.settings.evaluation == "graph"
                           ? training_.model(training_.data.graph, training_.features).value()
                           : layer_by_layer();
    training_.model.train();
    return out;
  }

  Tensor layer_by_layer() {
    return infer_layer_wise(training_.data.graph, training_.features, training_.model.num_layers(),
                            [this](size_t layer, const Block& block, const Features& x) {
                              return training_.model.over(layer, block, training_.model.input(x)).value();
                            },
                            {.batch_size = training_.settings.batch_size,
                             .workers = static_cast<int>(training_.settings.workers)});
  }

  const Training training_;
  optim::FiniteWatch* losses_;
  NeighborLoader loader_;
};

}  // namespace

std::unique_ptr<Epochs> neighbor_batches(const Training& training, optim::FiniteWatch* losses) {
  return std::make_unique<NeighborBatches>(training, losses);
}

}  // namespace adj::apps
