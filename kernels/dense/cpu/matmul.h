#pragma once

#include <adjoint/kernels/elementwise/activation.h>

namespace adj::kernels::cpu {

/// False in a build without oneDNN.
bool has_matmul();
/// C = act(op(A) op(B) + bias) by oneDNN, float32, no extent 0; act none or relu.
void matmul(const Tensor& a, bool turned_a, const Tensor& b, bool turned_b, const Tensor& bias,
            Activation activation, Tensor& c);

}  // namespace adj::kernels::cpu
