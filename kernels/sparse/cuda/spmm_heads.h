#pragma once

#include <adjoint/kernels/sparse/spmm.h>

namespace adj::kernels::cuda {

// The SpMM family where edge weights come by head, [M,H]. Arguments were checked.
void spmm_by_head(const SpmmArgs& args);
void sddmm_by_head(const SddmmArgs& args);
void spmm_backward_by_head(const SpmmBackwardArgs& args);

}  // namespace adj::kernels::cuda
