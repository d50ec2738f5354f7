#pragma once

#include <adjoint/kernels/bits/bit_gemm.h>

namespace adj::kernels::cuda {

/// Is there a kernel for the device's tensor cores (compute capability 9.0)?
bool has_bit_products(Device device);
/// bit_gemm and bit_gemm_to_bits there. Planes and sums of the latter's result are zeros before.
void bit_product(const BitGemmArgs& args);
void bit_product_to_bits(const BitGemmToBitsArgs& args);

/// Zeros in the sums, and in the planes where they are asked for, by one launch that overlaps with others.
void clear_bits(BitTensor& to, bool planes);

/// q as bytes, uint8 [steps of 128 numbers, padded rows, 128]: a BitTensor's plane, but for a byte a number.
Tensor expand_bits(const BitTensor& from);

/// What kernels take of a product.
struct BitOperand {
  const uint8_t* planes;
  int64_t plane_bytes, step_bytes;
  int outer, bits;
  const float *scale, *zero;  ///< [1] or [outer]
  bool scale_of_row, zero_of_row;
  const int32_t* sums;

  BitOperand() = default;
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

/// Where requantised products go, and the layer's end.
struct BitResult {
  uint8_t* planes;
  int64_t plane_bytes, step_bytes;
  int bits, largest;
  const float *scale, *zero;  ///< [1] or [M]
  bool scale_of_row, zero_of_row;
  int32_t* sums;                             ///< zeros before
  const float *column_scale, *column_shift;  ///< [N], or null
  bool relu;

  explicit BitResult(const BitGemmToBitsArgs& args)
      : planes(args.to.planes.mutable_data<uint8_t>()),
        plane_bytes(args.to.plane_bytes()),
        step_bytes(args.to.step_bytes()),
        bits(args.to.bits),
        largest(args.to.largest()),
        scale(args.to.scale.data<float>()),
        zero(args.to.zero.data<float>()),
        scale_of_row(args.to.scale.numel() != 1),
        zero_of_row(args.to.zero.numel() != 1),
        sums(args.to.sums.mutable_data<int32_t>()),
        column_scale(args.column_scale ? args.column_scale.data<float>() : nullptr),
        column_shift(args.column_shift ? args.column_shift.data<float>() : nullptr),
        relu(args.activation == Activation::relu) {}
  BitResult() = default;
#if defined(__CUDACC__)
  __device__ BitRow row(const BitOperand& a, int r, float inner) const {
    return bit_row(a.scale[a.scale_of_row ? r : 0], a.zero[a.zero_of_row ? r : 0], a.sums[r],
                   scale[scale_of_row ? r : 0], zero[zero_of_row ? r : 0], inner);
  }
  __device__ BitColumn column(const BitOperand& b, int c) const {
    return {b.scale[b.scale_of_row ? c : 0] * (column_scale != nullptr ? column_scale[c] : 1.0f),
            b.zero[b.zero_of_row ? c : 0], static_cast<float>(b.sums[c]),
            column_shift != nullptr ? column_shift[c] : 0.0f};
  }
#endif
};

}  // namespace adj::kernels::cuda
