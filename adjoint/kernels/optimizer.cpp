#include <adjoint/core/dispatch.h>
#include <adjoint/kernels/check.h>
#include <adjoint/kernels/optimizer.h>

namespace adj::kernels {

namespace {

void check_slots(std::string_view op, std::span<UpdateSlot> slots, int states, const Tensor& learning_rate,
                 const Tensor& step) {
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

}  // namespace

void sgd_update(std::span<UpdateSlot> slots, const SgdRule& rule, const Tensor& learning_rate, Tensor& step) {
  check_slots("sgd_update", slots, rule.momentum != 0.0 ? 1 : 0, learning_rate, step);
  ADJ_DISPATCH(step.device(), sgd_update, slots, rule, learning_rate, step);
}

void adam_update(std::span<UpdateSlot> slots, const AdamRule& rule, const Tensor& learning_rate,
                 Tensor& step) {
  check_slots("adam_update", slots, 2, learning_rate, step);
  ADJ_DISPATCH(step.device(), adam_update, slots, rule, learning_rate, step);
}

void global_norm(std::span<const Tensor> tensors, Tensor& norm) {
  check_scalar("global_norm", "norm", norm, DType::f64, norm.device());
  for (const Tensor& tensor : tensors) {
    check_float("global_norm", "a tensor", tensor);
    check_tensor("global_norm", "a tensor", tensor, tensor.shape(), tensor.dtype(), norm.device());
  }
  ADJ_DISPATCH(norm.device(), global_norm, tensors, norm);
}

void clip_to_norm(std::span<Tensor> tensors, const Tensor& norm, double max_norm) {
  check_scalar("clip_to_norm", "norm", norm, DType::f64, norm.device());
  ADJ_CHECK(max_norm > 0.0, "clip_to_norm: max_norm is {}, expected a positive number", max_norm);
  for (const Tensor& tensor : tensors) {
    check_float("clip_to_norm", "a tensor", tensor);
    check_tensor("clip_to_norm", "a tensor", tensor, tensor.shape(), tensor.dtype(), norm.device());
  }
  ADJ_DISPATCH(norm.device(), clip_to_norm, tensors, norm, max_norm);
}

}  // namespace adj::kernels
