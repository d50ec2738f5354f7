#include <adjoint/nn/norm/norm.h>

namespace adj::nn {

BatchNorm::BatchNorm(int64_t features, double eps, double momentum) : eps_(eps), momentum_(momentum) {
  ADJ_CHECK(features > 0, "BatchNorm: expected a positive width, got {}", features);
  add_parameter("weight", weight, Tensor::full({features}, 1.0));
  add_parameter("bias", bias, Tensor::zeros({features}));
  add_buffer("running_mean", running_mean, Tensor::zeros({features}));
  add_buffer("running_var", running_var, Tensor::full({features}, 1.0));
}

Var BatchNorm::operator()(const Var& x, const NormEpilogue& epilogue) {
  RunningStatistics running{running_mean, running_var, momentum_};  // shares the tensors, updated in place
  return batch_norm(x, weight, bias, running, training(), eps_, epilogue);
}

LayerNorm::LayerNorm(int64_t features, double eps) : eps_(eps) {
  ADJ_CHECK(features > 0, "LayerNorm: expected a positive width, got {}", features);
  add_parameter("weight", weight, Tensor::full({features}, 1.0));
  add_parameter("bias", bias, Tensor::zeros({features}));
}

}  // namespace adj::nn
