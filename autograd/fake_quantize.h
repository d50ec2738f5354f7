// Saved for backward: x, scale and zero. y does not say where x was clamped.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/features.h>
#include <adjoint/kernels/bits/bit_tensor.h>

namespace adj {

/// LSQ's scale of a step size's gradient, 1 / sqrt(numbers that share it * (2^bits - 1)) (Esser et al.,
/// Learned Step Size Quantization, 2020, section 2.2); 1 where there are no numbers.
double lsq_gradient_scale(int64_t numbers, int bits);

struct FakeQuantizeOptions {
  PackedAlong along = PackedAlong::rows;
  Tensor keep = {};             ///< uint8 [R]: rows that pass as they are
  double gradient_scale = 1.0;  ///< of the scale's gradient
};

/// scale (clamp(round(x / scale + zero), 0, 2^bits - 1) - zero), to the bit what to_values() makes of
/// to_bits(): x float32 [R,C], scale and zero float32 [1], or of each row [R] or column [C] as `along` says.
/// Gradients pass straight through the rounding, to x and to scale (kernels/bits/fake_quantize.h); zero takes
/// none. Throws where dtypes or shapes are others.
Var fake_quantize(const Var& x, int bits, const Var& scale, const Tensor& zero,
                  const FakeQuantizeOptions& options = {});

/// Features, of which sparse ones stay sparse: their values by one scale, with a zero of 0, for which absent
/// numbers stay 0. No gradient. Throws for another zero beside sparse features, and for scales of each row or
/// column there.
Features fake_quantize(const Features& x, int bits, const Tensor& scale, const Tensor& zero);

}  // namespace adj
