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

/// Y = A X by cuSPARSE, with at least one entry and one feature. Descriptors, 32-bit offsets, preprocessing
/// and workspace are made on first use and kept with the structure; a first use cannot be captured.
void cusparse_spmm(const CsrMatrix& a, const Tensor& x, Tensor& y);

}  // namespace adj::kernels::cuda
