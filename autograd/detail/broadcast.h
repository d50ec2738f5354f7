#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj::detail {

/// Σ over the middle dimension of x viewed as [outer, n, inner]; the result is [outer, inner].
inline Tensor sum_middle(const Tensor& x, int64_t outer, int64_t n, int64_t inner) {
  Tensor y = Tensor::empty({outer, inner}, x.dtype(), x.device());
  if (outer == 1) {
    Tensor row = y.reshape({inner});
    kernels::sum_rows({.x = x.reshape({n, inner}), .y = row});
  } else if (inner == 1) {
    Tensor column = y.reshape({outer});
    kernels::sum_columns({.x = x.reshape({outer, n}), .y = column});
  } else {
    kernels::sum_dim({.x = x.reshape({outer, n, inner}), .y = y});
  }
  return y;
}

/// The gradient of a broadcast operand of `shape`: dy summed over the stretched dimensions, adjacent ones
/// together, in a fixed order; dy itself if none was stretched.
inline Tensor reduce_to(const Shape& shape, const Tensor& dy) {
  Tensor sum = dy;
  const int dims = dy.dims();
  int64_t inner = 1;  // extent behind the current dimensions
  for (int d = 0; d < dims;) {
    int64_t n = 1;
    const auto stretched = [&](int k) {
      return kernels::extent_from_last(shape, k) == 1 && kernels::extent_from_last(dy.shape(), k) != 1;
    };
    for (; d < dims && stretched(d); ++d) n *= kernels::extent_from_last(dy.shape(), d);
    if (n != 1) {
      int64_t outer = 1;
      for (int k = d; k < dims; ++k) outer *= kernels::extent_from_last(dy.shape(), k);
      sum = sum_middle(sum, outer, n, inner);
    }
    for (; d < dims && !stretched(d); ++d) inner *= kernels::extent_from_last(dy.shape(), d);
  }
  return sum.reshape(shape);
}

/// x broadcast to `shape`.
inline Tensor expand_to(const Shape& shape, const Tensor& x) {
  Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  kernels::expand({.x = x, .y = y});
  return y;
}

}  // namespace adj::detail
