#include <adjoint/nn/init.h>
#include <adjoint/nn/norm/norm.h>

namespace adj::nn {

BatchNorm::BatchNorm(int64_t features, const BatchNormOptions& options) : options_(options) {
  ADJ_CHECK(features > 0, "BatchNorm: expected a positive width, got {}", features);
  add_parameter("weight", weight, constant({features}, 1.0));
  add_parameter("bias", bias, constant({features}, 0.0));
  add_buffer("running_mean", running_mean, constant({features}, 0.0));
  add_buffer("running_var", running_var, constant({features}, 1.0));
}

Var BatchNorm::operator()(const Var& x, const NormEpilogue& epilogue) const {
  RunningStatistics running{running_mean, running_var,
                            options_.momentum};  // shares the tensors, updated in place
  return batch_norm(x, weight, bias, running, training(), options_.eps, epilogue);
}

LayerNorm::LayerNorm(int64_t features, const LayerNormOptions& options) : eps_(options.eps) {
  ADJ_CHECK(features > 0, "LayerNorm: expected a positive width, got {}", features);
  add_parameter("weight", weight, constant({features}, 1.0));
  add_parameter("bias", bias, constant({features}, 0.0));
}

}  // namespace adj::nn
