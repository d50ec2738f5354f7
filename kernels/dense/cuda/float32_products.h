#pragma once

#include <adjoint/kernels/dense/gemm.h>

namespace adj::kernels::cuda {

/// Whether the product is computed as a split one (ExactProducts): exact, float32, on a GPU of compute
/// capability 9.0, and either requested or faster by measurement (docs/benchmarks.md).
bool splits_product(const GemmArgs& args);

/// C = act(op(A) op(B) + bias) in float32 on tensor cores. An operand x is an exact sum of three bfloat16
/// numbers, x = x0 + x1 + x2 with |x1| < 2^-7 |x| and |x2| <= 2^-16 |x|; of the nine products of parts the
/// six largest are accumulated in float32, small ones first, and the rest is below 2^-22 |a b|. Every 64
/// terms over K are added to a float32 accumulator in registers, since tensor cores round their own sums
/// towards zero. If C has fewer tiles than the GPU has SMs, K is split over blocks, whose sums (at most 128
/// KiB of scratch per SM) are added in order. K > 0.
///
/// Operands are first scaled by 2^16, since below 2^-110 three parts would not hold all bits. Results that
/// the tensor cores make infinite or NaN are recomputed by float32 FMAs, 64 terms at a time, each element by
/// one thread: a value representable in float32 is never lost, and others become infinity or NaN as in
/// float32.
///
/// `sums` [N], if given, with both operands' rows along their outer extents (A transposed, B not): Σ over the
/// rows of B, computed from the operands in flight, 64 rows by float32 additions, these sums by float32
/// additions too, and those of the splits as in sum_rows.
void split_product(const GemmArgs& args, Tensor* sums = nullptr);

/// Whether the product is exact, float32, and so small that cuBLASLt's two launches dominate
/// (docs/benchmarks.md).
bool is_small_product(const GemmArgs& args);

/// C = act(op(A) op(B) + bias) in one launch, accumulated over K in float32. If C has few tiles, K is split
/// over blocks (M N floats of scratch each), and the last block of a tile to finish adds the partial sums in
/// order. K > 0.
void small_product(const GemmArgs& args);

}  // namespace adj::kernels::cuda
