// The gradient of a gather is a product with the transposed selection matrix: row i of its CSR lists the
// output rows that chose row i, in order. No scatter, no atomics.
#pragma once

#include <adjoint/autograd/variable.h>

#include <vector>

namespace adj {

/// [K,…]: x[index[k]] for each k, along the first dimension of x [N,…]; `index` int32 or int64 [K], repeats
/// allowed, range-checked on the CPU. Backward sums in index order.
Var index_select(const Var& x, const Tensor& which);
/// Row order[k] of the parts [Np,F] under each other, for each of their rows; `order` int32 [ΣNp] has each
/// row once, which is not checked. One pass either way: backward sorts nothing.
Var interleave_rows(const std::vector<Var>& parts, const Tensor& order);

}  // namespace adj
