#pragma once

#include <adjoint/kernels/activation.h>

namespace adj {

/// How float32 matrix products are computed on a GPU. exact: float32 throughout. tf32, bf16: tensor cores
/// with operands rounded to 10 or 7 bits of mantissa, float32 accumulation; only when asked for. The CPU is
/// always exact.
enum class MatmulPrecision : uint8_t { exact, tf32, bf16 };
void set_matmul_precision(MatmulPrecision precision);
MatmulPrecision matmul_precision();

namespace kernels {

enum class Transpose : bool { no, yes };

/// C[M,N] = act(op(A) op(B) + bias) + beta C, row-major, op = transpose where asked; `bias` [N] optional;
/// beta is 0 or 1, and 1 only without bias and activation. `activation` none, relu or gelu in the fused
/// epilogue; others are applied in a second pass. float32 by oneDNN where present, else Eigen; float64 by
/// Eigen; cuBLASLt on a GPU. M, N or K may be 0 (K = 0 gives act(bias)).
ADJ_KERNEL(void, gemm, const Tensor& a, Transpose trans_a, const Tensor& b, Transpose trans_b,
           const Tensor& bias, Activation activation, float beta, Tensor& c)

}  // namespace kernels
}  // namespace adj
