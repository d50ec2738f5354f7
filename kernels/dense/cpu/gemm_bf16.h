#pragma once

#include <adjoint/kernels/dense/gemm.h>

namespace adj::kernels::cpu {

/// gemm of bfloat16 operands, no extent 0: float32 products of tiles, widened one after the other, so that
/// the large operands (features, their gradients) never stand in memory in float32 as a whole.
void gemm_bf16(const GemmArgs& args);

}  // namespace adj::kernels::cpu
