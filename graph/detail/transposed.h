#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::detail {

/// The transposed structure, without the order of its entries, which is as large; not cached.
inline Csr transposed(const Csr& csr) {
  Csr turned{csr.cols, csr.rows, Tensor::empty({csr.cols + 1}, DType::i64, csr.device()),
             Tensor::empty_like(csr.indices)};
  Tensor order = Tensor::empty_like(csr.indices);
  kernels::transpose({.a = csr, .offsets = turned.offsets, .indices = turned.indices, .order = order});
  return turned;
}

}  // namespace adj::detail
