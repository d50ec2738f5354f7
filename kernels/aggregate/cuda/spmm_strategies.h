#pragma once

#include <adjoint/kernels/aggregate/spmm.h>

// The ways to compute a sparse product that spmm.cu and sddmm.cu choose from, besides the kernel over items
// (spmm_launch.cuh). Arguments were checked.
namespace adj::kernels::cuda {

/// Is this product one whose time is latency, not bytes? A rule on sizes alone: which code runs decides the
/// bits.
bool is_small_spmm(const Csr& a, const Tensor& x);
/// Y = act(A X + bias) for a small float32 product in one launch and without a plan.
void small_spmm(const SpmmArgs& args);

/// Where edge weights come by head, [M,H].
void spmm_by_head(const SpmmArgs& args);
void sddmm_by_head(const SddmmArgs& args);
void spmm_backward_by_head(const SpmmBackwardArgs& args);

}  // namespace adj::kernels::cuda
