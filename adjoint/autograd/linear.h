#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/kernels/activation.h>

namespace adj {

/// act(x w + bias): x [N,in], dense or sparse features; w [in,out]; bias [out] optional. Bias and relu are
/// part of the product's own pass; other activations follow in a second. Sparse features take no gradient.
Var linear(const Var& x, const Var& w, const Var& bias = {}, Activation activation = Activation::none);
/// a b, likewise.
Var matmul(const Var& a, const Var& b);

}  // namespace adj
