#pragma once

#include <adjoint/kernels/dense/gemm.h>

namespace adj::kernels::cuda {

/// Is this product a split one (ExactProducts): exact, float32, on a GPU of compute capability 9.0, and
/// faster so by what was measured (docs/benchmarks.md), or asked for?
bool splits_product(const GemmArgs& args);

/// C = act(op(A) op(B) + bias) in float32 on the tensor cores. An operand x is three bfloat16 numbers whose
/// sum is x to the last bit, x = x0 + x1 + x2 with |x1| < 2^-7 |x| and |x2| <= 2^-16 |x|; of the nine
/// products of parts the six largest are summed in float32, the small ones first, and the rest is below 2^-22
/// |a b|. What 64 terms of the sum over K give is added to a float32 sum in registers, since tensor cores
/// round their own sums towards zero. Where C has fewer tiles than the GPU multiprocessors, runs of K go to
/// blocks of their own, whose sums (at most 128 KiB of scratch a multiprocessor) are added in order. K > 0.
///
/// Operands are raised by 2^16 first, since below 2^-110 three parts would not hold all their bits. What the
/// tensor cores then sum to infinity or NaN is summed again by float32 multiply-adds, 64 terms at a time,
/// each element by one thread: a value that float32 has is never lost, and one that it has not is its
/// infinity or NaN.
///
/// `sums` [N], where given, with both operands' rows along their outer extents (A turned, B not): Σ over the
/// rows of B, from the numbers as they pass by, 64 rows by float32 additions, these sums likewise, and those
/// of the splits as sum_rows does.
void split_product(const GemmArgs& args, Tensor* sums = nullptr);

}  // namespace adj::kernels::cuda
