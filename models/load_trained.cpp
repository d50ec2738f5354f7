#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/models/checkpoint.h>
#include <adjoint/models/trained_model.h>
#include <adjoint/nn/init.h>

namespace adj {

namespace {

/// The model of a checkpoint, without values. Facts that ask for far more than its tensors hold are refused
/// before they take memory; other differences are those that models::load_weights() names.
std::unique_ptr<models::Model> model_of(const TrainedModel::Parts& parts,
                                        const models::Checkpoint& checkpoint, const std::string& prefix) {
  int64_t numbers = 0;
  for (const auto& [name, tensor] : checkpoint.with_prefix(prefix)) numbers += tensor.numel();
  constexpr int64_t kSlack = 1 << 20;
  try {
    const nn::NoInit no_init(2 * numbers + kSlack);
    return parts.family.make(parts.num_features, parts.num_outputs, parts.options);
  } catch (const Error& error) {
    data_fail("{}: tensors/{}*: {} numbers, which do not match {} features, {} outputs and the options ({})",
              checkpoint.path, prefix, numbers, parts.num_features, parts.num_outputs, error.what());
  }
}

}  // namespace

TrainedModel load_trained(const std::string& path, Device device) {
  const models::Checkpoint checkpoint = models::load_checkpoint(path);
  TrainedModel::Parts parts{detail::description_of(checkpoint), detail::family_of(checkpoint), nullptr};
  const char* prefix = checkpoint.integer("best_epoch") >= 0 ? "best." : "model.";
  parts.model = model_of(parts, checkpoint, prefix);
  const std::string& text = checkpoint.text("option.precision");
  const auto precision = value_named<models::Precision>(text);
  if (!precision)
    data_fail("{}: facts@option.precision: '{}', expected float32, tf32 or bfloat16", path, excerpt(text));
  if (*precision == models::Precision::bfloat16) parts.model->to(DType::bf16);
  models::load_weights(*parts.model, checkpoint, prefix);
  parts.model->to(device);
  return TrainedModel(std::move(parts));
}

}  // namespace adj
