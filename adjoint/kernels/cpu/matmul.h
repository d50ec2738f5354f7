#pragma once

#include <adjoint/kernels/activation.h>

namespace adj::kernels::cpu {

/// False in a build without oneDNN.
bool has_matmul();
/// C = act(op(A) op(B) + bias) + (accumulate ? C : 0) by oneDNN, float32, no extent 0; activation none, relu
/// or gelu.
void matmul(const Tensor& a, bool turned_a, const Tensor& b, bool turned_b, const Tensor& bias,
            Activation activation, bool accumulate, Tensor& c);

}  // namespace adj::kernels::cpu
