#pragma once

#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/types/optimizer.h>

#include <span>

namespace adj::kernels {

/// The weight at the start of a step. A master that does not round to the parameter is stale, since weights
/// were loaded meanwhile, and the parameter is used. So neither the optimizer nor a captured step needs a
/// notification.
ADJ_HOST_DEVICE inline float weight_of(float master, bfloat16 parameter) {
  return bfloat16(master).bits == parameter.bits ? master : static_cast<float>(parameter);
}

namespace detail {

inline void check_weights(std::string_view op, std::string_view name, const Tensor& tensor, Device device) {
  ADJ_CHECK(tensor && is_floating(tensor.dtype()) && tensor.device() == device,
            "{}: {} is {}, expected a floating type on {}", op, name, tensor.str(), device.str());
}

inline void check_slots(std::string_view op, std::span<UpdateSlot> slots, int states,
                        const Tensor& learning_rate, const Tensor& step) {
  const Device device = step.device();
  check_scalar(op, "step", step, DType::i64, device);
  check_scalar(op, "learning_rate", learning_rate, DType::f64, device);
  for (const UpdateSlot& slot : slots) {
    check_weights(op, "a parameter", slot.parameter, device);
    check_like(op, "a gradient", slot.gradient, slot.parameter);
    const bool narrow = slot.parameter.dtype() == DType::bf16;
    const auto check_state = [&](std::string_view name, const Tensor& state) {
      check_tensor(op, name, state, slot.parameter.shape(), narrow ? DType::f32 : slot.parameter.dtype(),
                   device);
    };
    if (states >= 1) check_state("a first state", slot.first);
    if (states >= 2) check_state("a second state", slot.second);
    if (narrow) check_state("a master", slot.master);
  }
}

}  // namespace detail

/// SGD by `rule` of the parameters p of all `slots` with their gradients g: d = g + weight_decay p, v =
/// momentum v + d, p -= learning_rate v, or for Nesterov learning_rate (d + momentum v).
/// `step` (int64 [1]) and `learning_rate` (float64 [1]) live on the device, so that a captured step can
/// advance and follow a schedule. `step` counts finished steps; the call increments it. One launch for all
/// slots of a group.
struct SgdUpdateArgs {
  std::span<UpdateSlot> slots;
  SgdRule rule;
  const Tensor& learning_rate;
  Tensor& step;

  Device device() const { return step.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    detail::check_slots(op, slots, rule.momentum != 0.0 ? 1 : 0, learning_rate, step);
  }
};
ADJ_KERNEL(sgd_update, SgdUpdateArgs)  ///< One step of SGD for a group.

/// Adam by `rule` of the parameters of all `slots`; `learning_rate` and `step` as in SgdUpdateArgs. `step`,
/// once incremented, is the exponent in the bias corrections.
struct AdamUpdateArgs {
  std::span<UpdateSlot> slots;
  AdamRule rule;
  const Tensor& learning_rate;
  Tensor& step;

  Device device() const { return step.device(); }  ///< where the kernel runs
  void check(std::string_view op) const { detail::check_slots(op, slots, 2, learning_rate, step); }
};
ADJ_KERNEL(adam_update, AdamUpdateArgs)  ///< One step of Adam or AdamW for a group.

/// Adagrad by `rule`, with the sums of squares as first states; `learning_rate` and `step` as in
/// SgdUpdateArgs.
struct AdagradUpdateArgs {
  std::span<UpdateSlot> slots;  ///< of the group
  AdagradRule rule;             ///< options of the optimizer
  const Tensor& learning_rate;  ///< of this step
  Tensor& step;                 ///< incremented

  Device device() const { return step.device(); }  ///< where the kernel runs
  void check(std::string_view op) const { detail::check_slots(op, slots, 1, learning_rate, step); }
};
ADJ_KERNEL(adagrad_update, AdagradUpdateArgs)  ///< One step of Adagrad for a group.

/// norm (float64 [1]) = joint L2 norm of all tensors, of any floating type, summed in a fixed order.
struct GlobalNormArgs {
  std::span<const Tensor> tensors;
  Tensor& norm;

  Device device() const { return norm.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_scalar(op, "norm", norm, DType::f64, norm.device());
    for (const Tensor& tensor : tensors) detail::check_weights(op, "a tensor", tensor, norm.device());
  }
};
ADJ_KERNEL(global_norm, GlobalNormArgs)  ///< Joint L2 norm of tensors.

/// Multiplies each of `tensors`, of any floating type, by max_norm / (norm + 1e-6) if norm > max_norm; read
/// on the device.
struct ClipToNormArgs {
  std::span<Tensor> tensors;
  const Tensor& norm;
  double max_norm;

  Device device() const { return norm.device(); }
  void check(std::string_view op) const {
    check_scalar(op, "norm", norm, DType::f64, norm.device());
    ADJ_CHECK(max_norm > 0.0, "{}: max_norm is {}, expected a positive number", op, max_norm);
    for (const Tensor& tensor : tensors) detail::check_weights(op, "a tensor", tensor, norm.device());
  }
};
ADJ_KERNEL(clip_to_norm, ClipToNormArgs)  ///< Scales tensors down to a norm.

}  // namespace adj::kernels
