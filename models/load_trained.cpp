#include "trained_model.h"
#include <adjoint/core/error.h>
#include <adjoint/core/random.h>
#include <adjoint/core/text.h>
#include <adjoint/models/checkpoint.h>

namespace adj {

namespace {

/// Loaded weights replace the initial ones; the draws of those leave the generator unchanged.
class InitialWeights {
 public:
  InitialWeights() : seed_(default_generator().seed()), position_(default_generator().position()) {}
  ~InitialWeights() { default_generator().set_state(seed_, position_); }
  InitialWeights(const InitialWeights&) = delete;
  InitialWeights& operator=(const InitialWeights&) = delete;

 private:
  uint64_t seed_, position_;
};

}  // namespace

TrainedModel load_trained(const std::string& path, Device device) {
  const optim::Checkpoint checkpoint = optim::load_checkpoint(path);
  TrainedModel::Parts parts{detail::description_of(checkpoint), detail::family_of(checkpoint), nullptr};
  {
    const InitialWeights replaced;
    parts.model = parts.family.make(parts.num_features, parts.num_outputs, parts.options);
  }
  const std::string& precision = checkpoint.text("option.precision");
  if (precision != "float32" && precision != "tf32" && precision != "bfloat16")
    data_fail("{}: facts@option.precision: '{}', expected float32, tf32 or bfloat16", path,
              excerpt(precision));
  if (precision == "bfloat16") parts.model->to(DType::bf16);
  const bool knows_best = checkpoint.integer("best_epoch") >= 0;
  optim::load_weights(*parts.model, checkpoint, knows_best ? "best." : "model.");
  parts.model->to(device);
  return TrainedModel(std::move(parts));
}

}  // namespace adj
