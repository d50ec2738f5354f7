#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels::cuda {

/// Y = A X by cuSPARSE, with at least one entry and one feature. Descriptors, 32-bit offsets, preprocessing
/// and workspace are made on first use and kept with the structure; a first use cannot be captured.
void cusparse_spmm(const CsrMatrix& a, const Tensor& x, Tensor& y);

}  // namespace adj::kernels::cuda
