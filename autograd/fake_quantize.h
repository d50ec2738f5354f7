// Saved for backward: x, scale and zero; y does not show where x was clamped.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/features.h>
#include <adjoint/kernels/bits/bit_tensor.h>

namespace adj {

/// LSQ's factor for a step size's gradient, 1 / sqrt(numbers sharing it * (2^bits - 1)) (Esser et al.,
/// Learned Step Size Quantization, 2020, section 2.2); 1 if there are no numbers.
double lsq_gradient_scale(int64_t numbers, int bits);

/// Options of fake_quantize(). `along` says whose scales there are if there are several: rows or columns.
struct FakeQuantizeOptions {
  PackedAlong along = PackedAlong::rows;
  Tensor keep = {};             ///< uint8 [R]: rows left unquantised
  double gradient_scale = 1.0;  ///< factor of the scale's gradient
};

/// scale (clamp(round(x / scale + zero), 0, 2^bits - 1) - zero), bitwise equal to to_values(to_bits()): x
/// float32 [R,C], scale and zero float32 [1], or per row [R] or column [C] according to `along`.
/// Straight-through gradients to x and scale (kernels/bits/bit_range.h); zero takes none. Throws for
/// other dtypes or shapes.
Var fake_quantize(const Var& x, int bits, const Var& scale, const Tensor& zero,
                  const FakeQuantizeOptions& options = {});

/// Same for features. Sparse ones stay sparse: one scale for their values, with zero 0 so that absent entries
/// stay 0. No gradient. For sparse features throws for a nonzero `zero` and for scales per row or column.
Features fake_quantize(const Features& x, int bits, const Tensor& scale, const Tensor& zero);

}  // namespace adj
