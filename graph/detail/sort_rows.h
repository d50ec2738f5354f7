#pragma once

#include <adjoint/kernels/types/csr.h>

namespace adj::detail {

/// Sorts the entries of each row by column, equal columns in their order; on the CPU. `values` float32
/// [entries] or absent.
void sort_rows(Csr& csr, Tensor& values);

}  // namespace adj::detail
