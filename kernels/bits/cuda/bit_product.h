#pragma once

#include <adjoint/kernels/bits/bit_operands.h>

namespace adj::kernels::cuda {

/// Is there a kernel for the device's tensor cores (compute capability 9.0)?
bool has_bit_products(Device device);
/// bit_gemm and bit_gemm_to_bits there. Planes and sums of the latter's result are zeros before.
void bit_product(const BitGemmArgs& args);
void bit_product_to_bits(const BitGemmToBitsArgs& args);

}  // namespace adj::kernels::cuda
