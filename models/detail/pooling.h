#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/types/reduce.h>

namespace adj::models {

/// Sum, mean or max (GraphModelOptions::pool) over the nodes of each graph: x [N, F], `offsets` int64 [G + 1]
/// -> [G, F].
Var pooled(const Var& x, const Tensor& offsets, Reduce pool);

}  // namespace adj::models
