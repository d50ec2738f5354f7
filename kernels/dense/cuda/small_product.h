#pragma once

#include <adjoint/kernels/dense/gemm.h>

namespace adj::kernels::cuda {

/// Whether the product is exact, float32, and so small that cuBLASLt's two launches dominate
/// (docs/benchmarks.md).
bool is_small_product(const GemmArgs& args);

/// C = act(op(A) op(B) + bias) in one launch, accumulated over K in float32. If C has few tiles, K is split
/// over blocks (M N floats of scratch each), and the last block of a tile to finish adds the partial sums in
/// order. K > 0.
void small_product(const GemmArgs& args);

}  // namespace adj::kernels::cuda
