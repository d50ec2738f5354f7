#pragma once

#include <adjoint/kernels/activation.h>
#include <adjoint/kernels/csr.h>

namespace adj::kernels::cuda {

/// Is this product one whose time is latency, not bytes? A rule on sizes alone: which code runs decides the
/// bits.
bool is_small_spmm(const Csr& a, const Tensor& x);

/// Y = act(A X + bias) for a small float32 product, none, relu or leaky_relu, in one launch and without a
/// plan.
void small_spmm(const CsrMatrix& a, const Tensor& x, const Tensor& bias, Activation activation, Tensor& y);

}  // namespace adj::kernels::cuda
