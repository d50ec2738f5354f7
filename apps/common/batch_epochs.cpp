#include "batch_epochs.h"

#include <adjoint/data/loader/layer_wise.h>

namespace adj::apps {

BatchEpochs::BatchEpochs(const Training& training, optim::FiniteWatch* losses)
    : training_(training), model_(training.node_model()), losses_(losses) {}

Epochs::Evaluation BatchEpochs::validate() {
  const NoGrad no_grad;
  const Var out(logits());
  return {training_.objective.loss(out, training_.examples.val).value(),
          training_.objective.output(out.value())};
}

Tensor BatchEpochs::outputs() { return training_.objective.output(logits()); }

Tensor BatchEpochs::logits() {
  const NoGrad no_grad;
  model_.eval();
  const Tensor out = training_.settings.evaluation == "graph"
                         ? model_(training_.data.graph, training_.features).value()
                         : layer_by_layer();
  model_.train();
  return out;
}

Tensor BatchEpochs::layer_by_layer() {
  return infer_layer_wise(
      training_.data.graph, training_.features, model_.num_layers(),
      [this](size_t layer, const Block& block, const Features& x) {
        return model_.over(layer, block, model_.input(x)).value();
      },
      {.batch_size = training_.settings.batch_size, .workers = static_cast<int>(training_.settings.workers)});
}

}  // namespace adj::apps
