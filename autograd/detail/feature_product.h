#pragma once

#include <adjoint/graph/features.h>
#include <adjoint/kernels/types/activation.h>

#include <algorithm>

// Products with sparse or quantised features. Quantised features are unpacked in blocks of rows to the
// weights' dtype, in a workspace of about 2^22 numbers (16 MB of float32) for any number of rows. Blocks
// depend on the width only.

namespace adj::detail {

/// Rows of quantised features per block: a multiple of 128, so that each block of a result is aligned for GPU
/// products.
inline int64_t rows_at_once(int64_t cols) {
  constexpr int64_t kNumbers = int64_t{1} << 22, kRows = 128;
  return std::max(kRows, kNumbers / std::max<int64_t>(1, cols) / kRows * kRows);
}

/// y = act(x w + bias): x [N,F] sparse (with values for w's dtype) or quantised, w [F,out]; bias [out]
/// optional, act none or relu.
void feature_product(const Features& x, const Tensor& w, const Tensor& bias, Activation activation,
                     Tensor& y);
/// dw [F,out] = xᵀ dz, dz [N,out]. Quantised: block sums are added in order, bfloat16 ones in float32.
Tensor feature_weight_gradient(const Features& x, const Tensor& dz);

}  // namespace adj::detail
