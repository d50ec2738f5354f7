#pragma once

#include <adjoint/kernels/csr.h>

#include <string_view>

namespace adj::kernels {

/// Throws, naming the kernel `op`, unless shapes, dtypes and devices of the structure fit together.
void check_csr(std::string_view op, const Csr& csr);
/// Likewise for a structure with values of `dtype` (or none).
void check_matrix(std::string_view op, const CsrMatrix& a, DType dtype);

}  // namespace adj::kernels
