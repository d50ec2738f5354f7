// The gradient of a gather is a product with the transposed selection matrix: its CSR has the output rows
// that chose row i as the entries of row i, in order. No scatter, no atomics.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// [K,…]: x[index[k]] for each k, along the first dimension of x [N,…]; `index` int32 or int64 [K], repeats
/// allowed, a range-checked one on the CPU. Backward sums in index order.
Var index_select(const Var& x, const Tensor& which);

}  // namespace adj
