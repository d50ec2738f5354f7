// The gradient of a gather is a product with the transposed selection matrix: row i of its CSR lists the
// output rows that chose row i, in order. No scatter, no atomics.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// [K,…]: x[index[k]] for each k, along the first dimension of x [N,…]; `index` int32 or int64 [K], repeats
/// allowed, range-checked on the CPU. Backward sums in index order.
Var index_select(const Var& x, const Tensor& which);
/// The same for an order of all rows, int32 [N]: each once, which is not checked. Backward sorts nothing.
Var permute_rows(const Var& x, const Tensor& order);

}  // namespace adj
