#include "batch_epochs.h"
#include <adjoint/data/loader/neighbor_loader.h>
#include <adjoint/kernels/elementwise/elementwise.h>

namespace adj::apps {

namespace {

class NeighborBatches : public BatchEpochs {
 public:
  NeighborBatches(const Training& training, optim::NonFiniteMonitor* losses)
      : BatchEpochs(training, losses),
        loader_(training.data.graph, training.source, training.objective.targets(), training.examples.train,
                {.sampling = {.fanouts = fanouts_of(training.settings),
                              .replace = training.settings.replace,
                              .weighted = training.settings.weighted_sampling,
                              .labor = training.settings.labor},
                 .loading = {.batch_size = training.settings.batch_size,
                             .shuffle = true,
                             .seed = static_cast<uint64_t>(training.seed),
                             .workers = num_workers(training.settings)}}) {}

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

 private:
  NeighborLoader loader_;
};

}  // namespace

std::unique_ptr<Epochs> neighbor_batches(const Training& training, optim::NonFiniteMonitor* losses) {
  return std::make_unique<NeighborBatches>(training, losses);
}

}  // namespace adj::apps
