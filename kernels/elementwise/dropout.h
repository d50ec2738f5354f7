#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// y = x * scale where position i of the sequence `key` keeps element i, else 0 (DropoutRule), any shape.
/// Nothing is saved: the backward pass is the same call on dy. `y` may be `x`.
struct DropoutArgs {
  const Tensor& x;
  RandomKey key;
  DropoutRule rule;
  Tensor& y;

  Device device() const { return x.device(); }
  void check() const {
    check_float("dropout", "x", x);
    check_like("dropout", "y", y, x);
    ADJ_CHECK(rule.threshold < 65536u, "dropout: threshold {}, expected less than 65536", rule.threshold);
  }
};
ADJ_KERNEL(dropout, DropoutArgs)

}  // namespace adj::kernels
