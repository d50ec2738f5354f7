#pragma once

#include <adjoint/kernels/bits/bit_gemm.h>

namespace adj::kernels::cuda {

/// Is there a kernel for the device's tensor cores (compute capability 9.0)?
bool has_bit_products(Device device);
/// bit_gemm there.
void bit_product(const BitGemmArgs& args);

/// What kernels take of a product.
struct BitOperand {
  const uint8_t* planes;
  int64_t plane_bytes, step_bytes;
  int outer, bits;
  const float *scale, *zero;  ///< [1] or [outer]
  bool scale_of_row, zero_of_row;
  const int32_t* sums;

  explicit BitOperand(const BitTensor& q)
      : planes(q.planes.data<uint8_t>()),
        plane_bytes(q.plane_bytes()),
        step_bytes(q.step_bytes()),
        outer(static_cast<int>(q.outer)),
        bits(q.bits),
        scale(q.scale.data<float>()),
        zero(q.zero.data<float>()),
        scale_of_row(q.scale.numel() != 1),
        zero_of_row(q.zero.numel() != 1),
        sums(q.sums.data<int32_t>()) {}
#if defined(__CUDACC__)
  __device__ BitTerm term(int row) const {
    return {static_cast<double>(scale[scale_of_row ? row : 0]),
            static_cast<double>(zero[zero_of_row ? row : 0]), static_cast<double>(sums[row])};
  }
#endif
};

}  // namespace adj::kernels::cuda
