#include "batch_epochs.h"

#include "feature_place.h"
#include "loader.h"
#include <adjoint/kernels/elementwise/elementwise.h>

namespace adj::training {

SampledEpochs::SampledEpochs(const Run& run, models::Model& model) : run_(run), evaluated_(model) {
  if (run.settings().batches.evaluation == EvaluationMethod::layers) require_layers(model);
}

Epochs::Evaluation SampledEpochs::validate() {
  const NoGrad no_grad;
  const Var out(in_evaluation());
  return {run_.objective().loss(out, run_.examples().val).value(), run_.objective().output(out.value())};
}

Tensor SampledEpochs::outputs() { return run_.objective().output(in_evaluation()); }

Tensor SampledEpochs::in_evaluation() {
  const NoGrad no_grad;
  evaluated_.eval();
  const Tensor out = computed();
  evaluated_.train();
  return out;
}

Tensor SampledEpochs::over_all_nodes(models::NodeModel& model) const {
  const LearningTask& task = run_.task();
  const BatchOptions& batches = run_.settings().batches;
  if (batches.loader == "none" || batches.evaluation != EvaluationMethod::layers)
    return model(task.data.graph, task.features).value();
  return layer_by_layer(model, task.data.graph, task.store, run_.layer_wise());
}

Tensor SampledEpochs::no_loss() const { return Tensor::zeros({}, DType::f32, run_.task().data.device()); }

void SampledEpochs::add_loss(Tensor& sum, double share, const Var& loss) {
  kernels::linear_combination({.a = sum, .beta = share, .b = loss.value(), .y = sum});
}

std::unique_ptr<Epochs> node_epochs(const Run& run, models::NodeModel& model, NodeStep step) {
  const std::shared_ptr<LoaderChoice> loader = run.settings().batches.chosen();
  return loader ? loader->epochs(run, model, std::move(step)) : full_batch(run, model, std::move(step));
}

}  // namespace adj::training
