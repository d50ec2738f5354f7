#pragma once

#include <adjoint/core/tensor.h>

namespace adj::kernels {

/// One parameter's update: tensors of one shape, float32 or float64. `first` and `second` are the optimizer's
/// state (momentum; Adam's moments; zeros before the first step); `second` is absent for SGD, both for SGD
/// without momentum. Parameter and gradient may be bfloat16: then the states are float32, and so is `master`,
/// the unrounded parameter, which accumulates steps smaller than bfloat16's resolution of 2^-9 of a weight.
struct UpdateSlot {
  Tensor parameter = {};
  Tensor gradient = {};
  Tensor first = {};
  Tensor second = {};
  Tensor master = {};
};

/// d = g + `weight_decay` p; v = `momentum` v + d; p -= lr v or, if `nesterov`, lr (d + momentum v).
struct SgdRule {
  double momentum = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
};

/// Adam (Kingma & Ba 2015) with its `beta1`, `beta2` and `eps`, and `weight_decay` p added to the gradient;
/// with `decoupled`, AdamW (Loshchilov & Hutter 2019): lr weight_decay p is subtracted from p instead.
struct AdamRule {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decoupled = false;
};

/// Adagrad (Duchi et al. 2011), diagonal: d = g + `weight_decay` p; v += d²; p -= lr d / (√v + `eps`).
struct AdagradRule {
  double eps = 1e-10;
  double weight_decay = 0.0;
};

}  // namespace adj::kernels
