#pragma once

#include <adjoint/kernels/dense/gemm.h>

namespace adj::kernels::cuda {

/// Is this product exact, float32, and so small that cuBLASLt's two launches are its time
/// (docs/benchmarks.md)?
bool is_small_product(const GemmArgs& args);

/// C = act(op(A) op(B) + bias) in one launch, sums over K in float32. Where C has few tiles, runs of K go to
/// blocks of their own (M N floats of scratch each), and the last block of a tile to finish adds them in
/// order. K > 0.
void small_product(const GemmArgs& args);

}  // namespace adj::kernels::cuda
