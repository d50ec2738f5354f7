// Saved for backward: x, scale, bits and the sign. y does not say where x was held.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// What x [N,F] is in bits by node (kernels/bits/node_quantize.h): scale and bits float32 [N], is_signed
/// float32 [1]. Gradients pass straight through the roundings, to x, to scale and to bits; `local`: to the
/// latter two those of each node's own error, whatever reaches it from a loss.
Var node_quantize(const Var& x, const Var& scale, const Var& bits, const Tensor& is_signed,
                  bool local = false);

}  // namespace adj
