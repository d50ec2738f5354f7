#pragma once

#include <adjoint/kernels/bits/bit_pack.h>

namespace adj {

/// Unsigned integers q of 1 to 8 bits, a byte each, and what they stand for, scale (q - zero): rows that are
/// gathered, where a BitTensor would be read a plane at a time.
struct ByteTensor {
  int bits = 0;
  Tensor bytes;        ///< uint8 [N, F]
  Tensor scale, zero;  ///< float32 [1]

  Device device() const { return bytes.device(); }
  int largest() const { return (1 << bits) - 1; }
  ByteTensor to(Device device) const { return {bits, bytes.to(device), scale.to(device), zero.to(device)}; }
};

namespace kernels {

namespace detail {

inline void check_bytes(std::string_view op, const ByteTensor& x, Shape shape, Device device) {
  ADJ_CHECK(x.bits >= 1 && x.bits <= BitTensor::kMostBits, "{}: bytes of {} bits, expected 1 to 8", op,
            x.bits);
  check_tensor(op, "bytes", x.bytes, std::move(shape), DType::u8, device);
  check_tensor(op, "scale of bytes", x.scale, {1}, DType::f32, device);
  check_tensor(op, "zero of bytes", x.zero, {1}, DType::f32, device);
}

}  // namespace detail

/// q = round(x / scale + zero) as pack_bits has it, x float32 [N, F]; `to` has bits, scale and zero.
struct PackBytesArgs {
  const Tensor& x;
  ByteTensor& to;

  Device device() const { return x.device(); }
  void check() const {
    ADJ_CHECK(x.dims() == 2 && x.dtype() == DType::f32, "pack_bytes: x is {}, expected a float32 matrix",
              x.str());
    detail::check_bytes("pack_bytes", to, x.shape(), x.device());
  }
};
ADJ_KERNEL(pack_bytes, PackBytesArgs)

}  // namespace kernels

/// x [N,F] float32 in bytes of `bits` bits, with scale and zero of float32 [1].
inline ByteTensor to_bytes(const Tensor& x, int bits, const Tensor& scale, const Tensor& zero) {
  ByteTensor q{bits, Tensor::empty(x.shape(), DType::u8, x.device()), scale, zero};
  kernels::pack_bytes({.x = x, .to = q});
  return q;
}

}  // namespace adj
