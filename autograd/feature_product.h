#pragma once

#include <adjoint/graph/features.h>
#include <adjoint/kernels/elementwise/activation.h>

#include <algorithm>

// What products with features come to for each of their kinds but the dense one. Of quantised ones a block of
// rows at a time becomes numbers of the weights' dtype, in a workspace of about 2^22 numbers (16 MB of
// float32), however many rows there are. Blocks depend on the width alone.

namespace adj::detail {

/// Rows of quantised features that are multiplied at once: a multiple of 128, so that each block of a result
/// begins where a GPU's products want it.
inline int64_t rows_at_once(int64_t cols) {
  constexpr int64_t kNumbers = int64_t{1} << 22, kRows = 128;
  return std::max(kRows, kNumbers / std::max<int64_t>(1, cols) / kRows * kRows);
}

/// y = act(x w + bias), x [N,F] sparse (with values for w's dtype) or quantised, w [F,out]; bias [out]
/// optional, act none or relu.
void feature_product(const Features& x, const Tensor& w, const Tensor& bias, Activation activation,
                     Tensor& y);
/// dw [F,out] = xᵀ dz, dz [N,out]. Quantised: sums of blocks are added up in their order, bfloat16 ones in
/// float32.
Tensor feature_weight_gradient(const Features& x, const Tensor& dz);

}  // namespace adj::detail
