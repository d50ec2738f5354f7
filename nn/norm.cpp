#include <adjoint/nn/norm.h>

namespace adj::nn {

BatchNorm::BatchNorm(int64_t features, double eps, double momentum) : eps_(eps) {
  ADJ_CHECK(features > 0, "BatchNorm: expected a positive width, got {}", features);
  running.momentum = momentum;
  add_parameter("gamma", gamma, Tensor::full({features}, 1.0));
  add_parameter("beta", beta, Tensor::zeros({features}));
  add_buffer("running_mean", running.mean, Tensor::zeros({features}));
  add_buffer("running_variance", running.variance, Tensor::full({features}, 1.0));
}

Var BatchNorm::operator()(const Var& x, const NormEpilogue& epilogue) {
  return batch_norm(x, gamma, beta, running, training(), eps_, epilogue);
}

LayerNorm::LayerNorm(int64_t features, double eps) : eps_(eps) {
  ADJ_CHECK(features > 0, "LayerNorm: expected a positive width, got {}", features);
  add_parameter("gamma", gamma, Tensor::full({features}, 1.0));
  add_parameter("beta", beta, Tensor::zeros({features}));
}

}  // namespace adj::nn
