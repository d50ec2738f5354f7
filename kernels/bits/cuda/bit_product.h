#pragma once

#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/bits/bit_pack.h>

namespace adj::kernels::cuda {

/// Whether the device's tensor cores are supported (compute capability 9.0).
bool has_bit_products(Device device);
/// bit_gemm on tensor cores, and requantized products. The result's planes and sums must be zero beforehand:
/// if it has sums, cleared by clear_bits() as the directly preceding kernel.
void bit_product(const BitGemmArgs& args);
void bit_product(const BitTensor& a, const BitTensor& b, const BitSteps* steps, bool share_steps,
                 const BitResult& result);

/// Zeros the sums, and optionally the planes, in one launch that overlaps with others and that a kernel may
/// run beside (core/cuda/beside.cuh).
void clear_bits(BitTensor& bits, bool planes);

}  // namespace adj::kernels::cuda
