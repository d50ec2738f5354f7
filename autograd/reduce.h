#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// Σ x and its mean, any shape, as a scalar: float32 of bfloat16.
Var sum(const Var& x);

Var mean(const Var& x);

/// Σ over dimension `dim` (negative counts from the end), which goes, or stays with extent 1 where `keepdim`:
/// for x[N,F], sum(x, 0) is [F] and sum(x, 1) is [N].
Var sum(const Var& x, int dim, bool keepdim = false);

/// Likewise the mean; the dimension has at least one element.
Var mean(const Var& x, int dim, bool keepdim = false);

struct Maximum {
  Var values;
  Tensor indices;  ///< int32, of the values' shape: where along the dimension each was
};

/// The largest along dimension `dim`, ties to the smallest index, which alone takes the gradient. NaN counts
/// as larger than all. The dimension has at least one element.
Maximum max(const Var& x, int dim, bool keepdim = false);

}  // namespace adj
