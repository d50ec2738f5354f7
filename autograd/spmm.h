#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/elementwise/activation.h>

namespace adj {

/// act(A x + bias): the aggregation of GCN, SGC and means over a fixed sparse matrix; x [cols,F], bias [F]
/// optional, `activation` none or relu. Linear in x: nothing but A is kept for backward, which aggregates
/// over its adjoint. The bias is of x's dtype; A's values are float32 beside bfloat16. Over sorted rows, or,
/// where the matrix's relation scatters(), over its list of edges. On a GPU by tensor cores where
/// ComputeContext allows (graph/sparse_kernels.h).
Var spmm(const SparseMatrix& matrix, const Var& x, const Var& bias = {},
         Activation activation = Activation::none);

}  // namespace adj
