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

namespace detail {

inline void check_slots(std::string_view op, std::span<UpdateSlot> slots, int states,
                        const Tensor& learning_rate, const Tensor& step) {
  const Device device = step.device();
  check_scalar(op, "step", step, DType::i64, device);
  check_scalar(op, "learning_rate", learning_rate, DType::f64, device);
  for (const UpdateSlot& slot : slots) {
    check_float(op, "a parameter", slot.parameter);
    check_tensor(op, "a parameter", slot.parameter, slot.parameter.shape(), slot.parameter.dtype(), device);
    check_like(op, "a gradient", slot.gradient, slot.parameter);
    if (states >= 1) check_like(op, "a first state", slot.first, slot.parameter);
    if (states >= 2) check_like(op, "a second state", slot.second, slot.parameter);
  }
}

}  // namespace detail

// The step count (int64 [1]) and learning rate (float64 [1]) live on the device, so that a captured step
// advances and a schedule reaches it. `step` counts finished steps; the call adds one. All slots of a group
// go in one launch.
struct SgdUpdateArgs {
  std::span<UpdateSlot> slots;
  SgdRule rule;
  const Tensor& learning_rate;
  Tensor& step;

  Device device() const { return step.device(); }
  void check() const {
    detail::check_slots("sgd_update", slots, rule.momentum != 0.0 ? 1 : 0, learning_rate, step);
  }
};
ADJ_KERNEL(sgd_update, SgdUpdateArgs)

struct AdamUpdateArgs {
  std::span<UpdateSlot> slots;
  AdamRule rule;
  const Tensor& learning_rate;
  Tensor& step;

  Device device() const { return step.device(); }
  void check() const { detail::check_slots("adam_update", slots, 2, learning_rate, step); }
};
ADJ_KERNEL(adam_update, AdamUpdateArgs)

/// norm (float64 [1]) = L2 norm of all tensors together, summed in fixed order.
struct GlobalNormArgs {
  std::span<const Tensor> tensors;
  Tensor& norm;

  Device device() const { return norm.device(); }
  void check() const {
    check_scalar("global_norm", "norm", norm, DType::f64, norm.device());
    for (const Tensor& tensor : tensors) {
      check_float("global_norm", "a tensor", tensor);
      check_tensor("global_norm", "a tensor", tensor, tensor.shape(), tensor.dtype(), norm.device());
    }
  }
};
ADJ_KERNEL(global_norm, GlobalNormArgs)

/// Every tensor *= max_norm / (norm + 1e-6) where norm > max_norm; read on the device.
struct ClipToNormArgs {
  std::span<Tensor> tensors;
  const Tensor& norm;
  double max_norm;

  Device device() const { return norm.device(); }
  void check() const {
    check_scalar("clip_to_norm", "norm", norm, DType::f64, norm.device());
    ADJ_CHECK(max_norm > 0.0, "clip_to_norm: max_norm is {}, expected a positive number", max_norm);
    for (const Tensor& tensor : tensors) {
      check_float("clip_to_norm", "a tensor", tensor);
      check_tensor("clip_to_norm", "a tensor", tensor, tensor.shape(), tensor.dtype(), norm.device());
    }
  }
};
ADJ_KERNEL(clip_to_norm, ClipToNormArgs)

}  // namespace adj::kernels
