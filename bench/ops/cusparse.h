#pragma once

#include <adjoint/kernels/types/csr.h>

#include <functional>

// cuSPARSE as a peer: beside our kernels in the program bench, and as an independent judge in tests on a GPU.
// It computes nothing in training: on skewed graphs none of its CSR algorithms gives the same bits in every
// run.
namespace adj::ops {

/// Whether this build has it: with CUDA, where the toolkit brings it.
bool has_cusparse();

/// Prepared calls on the current stream of the tensors' GPU, whose operands must stay. Throw adj::Error
/// without cuSPARSE, for tensors elsewhere, and for 2^31 entries or more.
///
/// y [N,F] = A x [M,F], `values` in the order of A's entries; all float32 or all bfloat16.
std::function<void()> cusparse_spmm(const Csr& a, const Tensor& values, const Tensor& x, const Tensor& y);
/// dw[k] = y[i, :] · x[j, :] for each entry k = (i, j), float32.
std::function<void()> cusparse_sddmm(const Csr& a, const Tensor& y, const Tensor& x, const Tensor& dw);

}  // namespace adj::ops
