#include "batch_epochs.h"

#include "feature_place.h"

namespace adj::apps {

BatchEpochs::BatchEpochs(const Training& training, optim::NonFiniteMonitor* losses)
    : training_(training), model_(training.node_model()), losses_(losses) {
  if (training.settings.evaluation == "layers") (void)layered(model_);
}

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
                         : layer_by_layer(model_, training_.data.graph, training_.source, training_.settings);
  model_.train();
  return out;
}

}  // namespace adj::apps
