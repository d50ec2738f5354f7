#pragma once

#include <adjoint/kernels/kernel.h>

#include <string_view>

namespace adj {

/// Element-wise non-linearities. leaky_relu has slope 0.01 below zero unless another is given; elu has alpha
/// 1 (Clevert et al. 2016); gelu is the exact x Φ(x) by erf (Hendrycks & Gimpel 2016).
enum class Activation : uint8_t { none, relu, leaky_relu, elu, gelu };

std::string_view name_of(Activation activation);

namespace kernels {

/// y = act(x), any shape. `y` may be `x`. `slope` is leaky_relu's.
ADJ_KERNEL(void, activate, Activation activation, float slope, const Tensor& x, Tensor& y)
/// dx = dy * act'(x), any shape. `dx` may be `dy`.
ADJ_KERNEL(void, activate_backward, Activation activation, float slope, const Tensor& x, const Tensor& dy,
           Tensor& dx)

}  // namespace kernels
}  // namespace adj
