#pragma once

#include <adjoint/kernels/aggregate/spmm.h>

// Methods for a sparse product besides the kernel over items (spmm_launch.cuh); spmm.cu and sddmm.cu choose
// one. Arguments are already checked.
namespace adj::kernels::cuda {

/// Whether the product is limited by latency instead of bandwidth. A rule on sizes only, since the method
/// decides the bits.
bool is_small_spmm(const Csr& a, const Tensor& x);
/// Y = act(A X + bias) for a small float32 product in one launch and without a plan.
void small_spmm(const SpmmArgs& args);

/// With edge weights per head, [M,H].
void spmm_by_head(const SpmmArgs& args);
void sddmm_by_head(const SddmmArgs& args);
void spmm_backward_by_head(const SpmmBackwardArgs& args);

}  // namespace adj::kernels::cuda
