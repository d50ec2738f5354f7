#pragma once

#include <adjoint/kernels/bits/bit_pack.h>

namespace adj {

/// Unsigned integers q [N, width] of 1 to 8 bits, a byte each, and what they stand for, scale (q - zero):
/// rows that are gathered, where a BitTensor would be read a plane at a time. Rows are padded with bytes of
/// any value so that 16 of them are read at once and a row takes whole sectors of 32 from memory.
struct ByteTensor {
  int bits = 0;
  int64_t width = 0;
  Tensor bytes;        ///< uint8 [N, pitch(width)]
  Tensor scale, zero;  ///< float32 [1]

  static int64_t pitch(int64_t width) { return width <= 16 ? 16 : ceil_div(width, int64_t{32}) * 32; }
  static ByteTensor empty(int64_t rows, int64_t width, int bits, const Tensor& scale, const Tensor& zero,
                          Device device) {
    return {bits, width, Tensor::empty({rows, pitch(width)}, DType::u8, device), scale, zero};
  }
  Device device() const { return bytes.device(); }
  int64_t rows() const { return bytes.shape()[0]; }
  int largest() const { return (1 << bits) - 1; }
  ByteTensor to(Device device) const {
    return {bits, width, bytes.to(device), scale.to(device), zero.to(device)};
  }
};

namespace kernels {

namespace detail {

inline void check_bytes(std::string_view op, const ByteTensor& x, int64_t rows, int64_t width,
                        Device device) {
  ADJ_CHECK(x.bits >= 1 && x.bits <= BitTensor::kMostBits, "{}: bytes of {} bits, expected 1 to 8", op,
            x.bits);
  ADJ_CHECK(x.width == width, "{}: bytes are {} wide, expected {}", op, x.width, width);
  check_tensor(op, "bytes", x.bytes, {rows, ByteTensor::pitch(width)}, DType::u8, device);
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
    detail::check_bytes("pack_bytes", to, x.shape()[0], x.shape()[1], x.device());
  }
};
ADJ_KERNEL(pack_bytes, PackBytesArgs)

}  // namespace kernels

/// x [N,F] float32 in bytes of `bits` bits, with scale and zero of float32 [1].
inline ByteTensor to_bytes(const Tensor& x, int bits, const Tensor& scale, const Tensor& zero) {
  ADJ_CHECK(x.dims() == 2, "to_bytes: x is {}, expected a matrix", x.str());
  ByteTensor q = ByteTensor::empty(x.shape()[0], x.shape()[1], bits, scale, zero, x.device());
  kernels::pack_bytes({.x = x, .to = q});
  return q;
}

}  // namespace adj
