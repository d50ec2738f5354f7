#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/elementwise/activation.h>

namespace adj::kernels {

/// y = dropout(act(x)) in one pass: act(x) * scale where position i of the sequence `key` keeps element i,
/// else 0 (DropoutRule), any shape. `slope` is leaky_relu's. `y` may be `x`.
struct ActivateDropoutArgs {
  Activation activation;
  float slope = kLeakySlope;
  const Tensor& x;
  RandomKey key;
  DropoutRule rule;
  Tensor& y;

  Device device() const { return x.device(); }
  void check() const {
    check_float("activate_dropout", "x", x);
    check_like("activate_dropout", "y", y, x);
    ADJ_CHECK(rule.threshold < 65536u, "activate_dropout: threshold {}, expected less than 65536",
              rule.threshold);
  }
};
ADJ_KERNEL(activate_dropout, ActivateDropoutArgs)

/// dx = dropout(dy) * act'(x), the mask drawn again. `dx` may be `dy`.
struct ActivateDropoutBackwardArgs {
  Activation activation;
  float slope = kLeakySlope;
  const Tensor& x;
  const Tensor& dy;
  RandomKey key;
  DropoutRule rule;
  Tensor& dx;

  Device device() const { return x.device(); }
  void check() const {
    check_float("activate_dropout_backward", "x", x);
    check_like("activate_dropout_backward", "dy", dy, x);
    check_like("activate_dropout_backward", "dx", dx, x);
    ADJ_CHECK(rule.threshold < 65536u, "activate_dropout_backward: threshold {}, expected less than 65536",
              rule.threshold);
  }
};
ADJ_KERNEL(activate_dropout_backward, ActivateDropoutBackwardArgs)

}  // namespace adj::kernels
