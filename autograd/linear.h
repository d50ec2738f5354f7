// Saved for backward: the input (for dW), the weight (for dX), and with relu the output (its sign is the
// mask). The input is released before dX is allocated.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/features.h>
#include <adjoint/kernels/types/activation.h>

#include <functional>

namespace adj {

/// act(x w + bias): x [N,in], w [in,out], bias [out] optional. Bias and relu are fused into the product;
/// other activations take a second pass.
Var linear(const Var& x, const Var& w, const Var& bias = {}, Activation activation = Activation::none);
/// Same for features of any kind, which take no gradient. Dense features must have the weight's dtype
/// (Features::to); sparse ones keep float32 values with a bfloat16 weight; quantised ones are unpacked to the
/// weight's dtype in blocks of rows (detail/feature_product.h).
Var linear(const Features& x, const Var& w, const Var& bias = {}, Activation activation = Activation::none);

/// a b.
Var matmul(const Var& a, const Var& b);
Var matmul(const Features& a, const Var& b);

/// x w + bias + x2() w2: x [N,in], w [in,out], x2 [N,in2], w2 [in2,out], bias [out] optional. The second
/// product accumulates into the first. `x2` is called after the first product: if it depends on x too, as a
/// sum over neighbours does, its gradient of x arrives first, and the first product's gradient accumulates
/// into that as well.
Var linear_sum(const Var& x, const Var& w, const Var& bias, const std::function<Var()>& x2, const Var& w2);

}  // namespace adj
