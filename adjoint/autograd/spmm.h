#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/activation.h>

namespace adj {

/// act(A x + bias): the aggregation of GCN, SGC and means over a fixed sparse matrix; x [cols,F], bias [F]
/// optional, `activation` none or relu. Linear in x: nothing but A is kept for backward, which aggregates
/// over its adjoint.
Var spmm(const SparseMatrix& a, const Var& x, const Var& bias = {}, Activation activation = Activation::none);

/// A(w) x where the values w [entries], in CSR order, take a gradient too: dw_ij = ⟨dY_i, x_j⟩ (SDDMM), found
/// in the same pass as dx.
Var weighted_spmm(const std::shared_ptr<const SparsePattern>& pattern, const Var& w, const Var& x);

}  // namespace adj
