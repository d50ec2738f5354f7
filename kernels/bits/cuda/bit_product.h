#pragma once

#include <adjoint/kernels/bits/bit_operands.h>

namespace adj::kernels::cuda {

/// Is there a kernel for the device's tensor cores (compute capability 9.0)?
bool has_bit_products(Device device);
/// bit_gemm there, and requantised products; planes and sums of a result are
/// zeros before: where it has sums, by clear_bits() as the kernel just before.
void bit_product(const BitGemmArgs& args);
void bit_product(const BitTensor& a, const BitTensor& b, const BitSteps* steps, bool share_steps,
                 const BitResult& result);

}  // namespace adj::kernels::cuda
