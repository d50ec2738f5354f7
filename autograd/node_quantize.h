// Saved for backward: x, scale, bits and the sign; y does not show where x was clamped.
#pragma once

#include <adjoint/autograd/variable.h>

namespace adj {

/// x [N,F] fake-quantised with per-node bit widths (kernels/bits/node_quantize.h): scale and bits float32
/// [N], is_signed float32 [1]. Straight-through gradients to x, scale and bits; with `local`, scale and bits
/// get the gradient of each node's own quantisation error instead of the loss's.
Var node_quantize(const Var& x, const Var& scale, const Var& bits, const Tensor& is_signed,
                  bool local = false);

}  // namespace adj
