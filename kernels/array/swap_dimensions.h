#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// y[o, b, m, a, i] = x[o, a, m, b, i] for x of `extents` {O, A, M, B, I}: two dimensions are exchanged. Any
/// dtype but bits; the tensors' own shapes do not matter.
struct SwapDimensionsArgs {
  const Tensor& x;
  std::array<int64_t, 5> extents;
  Tensor& y;

  void check(std::string_view op) const {
    int64_t n = 1;
    for (const int64_t extent : extents) n *= extent;
    ADJ_CHECK(x && x.numel() == n && x.dtype() != DType::bits,
              "{}: x is {}, expected {} elements of other than bits", op, x.str(), n);
    ADJ_CHECK(y && y.numel() == n, "{}: y is {}, expected {} elements", op, y.str(), n);
    check_tensor(op, "y", y, y.shape(), x.dtype(), x.device());
  }
};
ADJ_KERNEL(swap_dimensions, SwapDimensionsArgs)  ///< Exchanges two dimensions.

}  // namespace adj::kernels
