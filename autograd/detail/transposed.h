#pragma once

#include <adjoint/core/tensor.h>

namespace adj::detail {

/// A copy of x, of any dtype but bits, with two dimensions exchanged; negative ones count from the end.
Tensor transposed(const Tensor& x, int first, int second);

}  // namespace adj::detail
