#pragma once

#include <adjoint/nn/module.h>

#include <string>
#include <utility>
#include <vector>

namespace adj::optim {

/// The name of the first of these tensors that has an element which is not finite; empty where there is none.
/// Their norm together is asked for first: one pass on their device and one number to wait for, which is why
/// it is for where the host waits anyway (an evaluation, a checkpoint), and not for every step.
std::string first_not_finite(const std::vector<std::pair<std::string, Tensor>>& tensors);

/// Throws, naming the epoch and the first of the model's parameters and buffers that is not finite: "epoch 3:
/// the parameter conv1.weight is not finite". Inf and NaN stay in a weight once they are there, so that to
/// ask at the end of a training is enough to know of all of it. `when` stands for "epoch 3".
void require_finite(const nn::Module& model, const std::string& when);

/// Notices on their device which of many numbers are not finite, the losses of a training say, though nobody
/// reads them: the host waits only where it asks. What infinite losses leave may be finite again.
class NonFiniteMonitor {
 public:
  explicit NonFiniteMonitor(Device device, DType dtype = DType::f32);
  /// `number` has one element. May stand in a captured step.
  void add(const Tensor& number);
  /// True if all were finite that were added since this was last false.
  bool all_finite();

 private:
  Tensor sum_;  // of them all times 0: 0, or NaN from the first that is not finite
};

}  // namespace adj::optim
