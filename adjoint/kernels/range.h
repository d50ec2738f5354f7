#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// position (one element, int64) = the first k with index[k] outside [0, limit), or the length of `index`
/// where there is none. `index` is [M] int32 or int64.
ADJ_KERNEL(void, first_outside, const Tensor& index, int64_t limit, Tensor& position)

}  // namespace adj::kernels
