#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// Sum or mean of x, any shape, as a scalar; float32 for bfloat16.
Var sum(const Var& x);

Var mean(const Var& x);

/// Sum over dimension `dim` (negative counts from the end), which is removed, or kept with extent 1 if
/// `keepdim`: for x[N,F], sum(x, 0) is [F] and sum(x, 1) is [N].
Var sum(const Var& x, int dim, bool keepdim = false);

/// Mean, same rules; the dimension needs at least one element.
Var mean(const Var& x, int dim, bool keepdim = false);

/// Result of max(): the `values`, with x's dtype, and where they are.
struct Maximum {
  Var values;
  Tensor indices;  ///< int32, shape of the values: argmax along the dimension
};

/// Maximum along dimension `dim`; ties go to the smallest index, which gets the whole gradient. NaN counts as
/// the largest value. The dimension needs at least one element.
Maximum max(const Var& x, int dim, bool keepdim = false);

}  // namespace adj
