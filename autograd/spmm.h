#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/types/activation.h>

namespace adj {

/// act(A x + bias), the product with a sparse matrix (aggregate() in edge.h takes a structure): x [cols,F],
/// bias [F] optional, `activation` none or relu. Linear in x: only A is saved, and backward multiplies with
/// its adjoint. The bias has x's dtype; A's values are float32 with bfloat16 features. Runs over CSR rows, or
/// over the edge list if the matrix's relation scatters(). On a GPU uses tensor cores if
/// ComputeContext::sparse_kernels and the precision allow (graph/sparse_kernels.h).
Var spmm(const SparseMatrix& matrix, const Var& x, const Var& bias = {},
         Activation activation = Activation::none);

}  // namespace adj
