#include "batch_epochs.h"

#include "feature_place.h"
#include "loader.h"

namespace adj::training {

BatchEpochs::BatchEpochs(const Run& run, models::NodeModel& model, NodeStep step)
    : run_(run), model_(model), step_(std::move(step)) {
  if (run.options().batches.evaluation == "layers") require_layers(model);
}

Epochs::Evaluation BatchEpochs::validate() {
  const NoGrad no_grad;
  const Var out(logits());
  return {run_.objective().loss(out, run_.examples().val).value(), run_.objective().output(out.value())};
}

Tensor BatchEpochs::outputs() { return run_.objective().output(logits()); }

Tensor BatchEpochs::logits() {
  const NoGrad no_grad;
  model_.eval();
  const LearningTask& task = run_.task();
  const Tensor out = run_.options().batches.evaluation == "graph"
                         ? model_(task.data.graph, task.features).value()
                         : layer_by_layer(model_, task.data.graph, task.store, run_.layer_wise());
  model_.train();
  return out;
}

std::unique_ptr<Epochs> node_epochs(const Run& run, models::NodeModel& model, NodeStep step) {
  const std::shared_ptr<Loader> loader = run.options().batches.chosen();
  return loader ? loader->epochs(run, model, std::move(step)) : full_batch(run, model, std::move(step));
}

}  // namespace adj::training
