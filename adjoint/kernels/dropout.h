#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// y = x * scale where position i of the sequence `key` keeps element i, else 0 (DropoutRule), any shape.
/// Nothing is saved: the backward pass is the same call on dy. `y` may be `x`.
ADJ_KERNEL(void, dropout, const Tensor& x, RandomKey key, DropoutRule rule, Tensor& y)

}  // namespace adj::kernels
