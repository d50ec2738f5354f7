#pragma once

#include <adjoint/autograd/variable.h>

#include <vector>

namespace adj {

/// [K,F]: rows index[k] of x[N,F]; `index` int32 [K], repeats allowed. Backward sums in index order.
Var gather_rows(const Var& x, const Tensor& index);
/// [N, F0+F1+…]: the parts side by side.
Var concat_columns(const std::vector<Var>& parts);

}  // namespace adj
