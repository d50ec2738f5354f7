#pragma once

#include <adjoint/kernels/kernel.h>

#include <span>

namespace adj::kernels {

/// One parameter's update: tensors of one shape, float32 or float64. `first` and `second` are the optimizer's
/// state (momentum; Adam's moments; zeros before the first step), `second` absent for SGD, both for SGD
/// without momentum.
struct UpdateSlot {
  Tensor parameter;
  Tensor gradient;
  Tensor first;
  Tensor second;
};

struct SgdRule {
  double momentum = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
};

/// Adam (Kingma & Ba 2015); with `decoupled`, AdamW (Loshchilov & Hutter 2019).
struct AdamRule {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decoupled = false;
};

// The step count (int64 [1]) and learning rate (float64 [1]) live on the device, so that a captured step
// advances and a schedule reaches it. `step` counts finished steps; the call adds one. All slots of a group
// go in one launch.
ADJ_KERNEL(void, sgd_update, std::span<UpdateSlot> slots, const SgdRule& rule, const Tensor& learning_rate,
           Tensor& step)
ADJ_KERNEL(void, adam_update, std::span<UpdateSlot> slots, const AdamRule& rule, const Tensor& learning_rate,
           Tensor& step)

/// norm (float64 [1]) = L2 norm of all tensors together, summed in fixed order.
ADJ_KERNEL(void, global_norm, std::span<const Tensor> tensors, Tensor& norm)
/// Every tensor *= max_norm / (norm + 1e-6) where norm > max_norm; read on the device.
ADJ_KERNEL(void, clip_to_norm, std::span<Tensor> tensors, const Tensor& norm, double max_norm)

}  // namespace adj::kernels
