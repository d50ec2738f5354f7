#pragma once

#include <adjoint/kernels/sparse/spmm.h>

namespace adj::kernels::cuda {

/// Is this product one whose time is latency, not bytes? A rule on sizes alone: which code runs decides the
/// bits.
bool is_small_spmm(const Csr& a, const Tensor& x);

/// Y = act(A X + bias) for a small float32 product in one launch and without a plan.
void small_spmm(const SpmmArgs& args);

}  // namespace adj::kernels::cuda
