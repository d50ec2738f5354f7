#pragma once

#include <adjoint/kernels/kernel.h>

#include <span>

namespace adj::kernels {

/// y[K,F] = x[index[k], :], `index` int32 [K] in [0, N) (range-checked on the CPU; where an index comes from
/// a file it was checked there). Any dtype. Its gradient is a product with the selection matrix's transpose
/// (spmm.h).
ADJ_KERNEL(void, gather_rows, const Tensor& x, const Tensor& index, Tensor& y)
/// y[N, F0+F1+…] = the parts side by side, each [N, Fk], one dtype.
ADJ_KERNEL(void, concat_columns, std::span<const Tensor> parts, Tensor& y)
/// The inverse: part k = its columns of y.
ADJ_KERNEL(void, split_columns, const Tensor& y, std::span<Tensor> parts)

}  // namespace adj::kernels
