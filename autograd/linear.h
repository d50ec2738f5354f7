// Saved for backward: the input (for dW), the weight (for dX), and with relu the output (its sign is the
// mask). The input is let go before dX is allocated.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/features.h>
#include <adjoint/kernels/elementwise/activation.h>

#include <functional>

namespace adj {

/// act(x w + bias): x [N,in], w [in,out], bias [out] optional. Bias and relu are part of the product's own
/// pass; other activations follow in a second.
Var linear(const Var& x, const Var& w, const Var& bias = {}, Activation activation = Activation::none);
/// The same for features of any kind, which take no gradient. Dense ones are of the weight's dtype
/// (Features::to); sparse ones keep float32 values beside a bfloat16 weight; of quantised ones what the bits
/// stand for is multiplied in that dtype, some rows at a time (feature_product.h).
Var linear(const Features& x, const Var& w, const Var& bias = {}, Activation activation = Activation::none);

/// a b.
Var matmul(const Var& a, const Var& b);
Var matmul(const Features& a, const Var& b);

/// x w + bias + x2() w2: x [N,in], w [in,out], x2 [N,in2], w2 [in2,out], bias [out] optional. The second
/// product is added to the first on its way to memory. `x2` is called once the first is there: where what it
/// gives comes from x too, as what neighbours sum to does, its gradient of x is the first to arrive, and the
/// product's is added to it on its way as well.
Var linear_sum(const Var& x, const Var& w, const Var& bias, const std::function<Var()>& x2, const Var& w2);

}  // namespace adj
