#pragma once

#include <adjoint/nn/module.h>

#include <string>
#include <utility>
#include <vector>

namespace adj::optim {

/// Name of the first tensor with a non-finite element; empty if there is none. Checks the norm of all tensors
/// first: one pass on their device and one number read by the host. Meant for points where the host waits
/// anyway (an evaluation, a checkpoint), not for every step.
std::string first_not_finite(const std::vector<std::pair<std::string, Tensor>>& tensors);

/// Throws, naming the epoch and the first of the model's parameters and buffers that is not finite: "epoch 3:
/// the parameter conv1.weight is not finite". Inf and NaN persist in weights, so one check at the end covers
/// the whole training. `when` is the "epoch 3".
void require_finite(const nn::Module& model, const std::string& when);

/// Detects non-finite numbers, such as losses, on their device; the host waits only in all_finite(). Needed
/// because weights may be finite again after infinite losses.
class NonFiniteMonitor {
 public:
  explicit NonFiniteMonitor(Device device, DType dtype = DType::f32);
  /// `number` has one element. Allowed in a captured step.
  void add(const Tensor& number);
  /// Whether all numbers added since the last false result were finite.
  bool all_finite();

 private:
  Tensor sum_;  // sum of all numbers times 0: 0, or NaN after a non-finite one
};

}  // namespace adj::optim
