#pragma once

#include <adjoint/kernels/bits/bit_tensor.h>
#include <adjoint/kernels/kernel.h>

namespace adj {

/// Unsigned integers q [N, width] of 1 to 8 bits, one byte each or, up to 4 bits, half a byte (lower half
/// first), with their dequantization scale (q - zero): for row gathers, where a BitTensor would be read plane
/// by plane. Rows are padded with arbitrary bytes, so that 16 are read at once and a row covers whole 32-byte
/// sectors.
struct ByteTensor {
  int bits = 0;
  int64_t width = 0;
  Tensor bytes;        ///< uint8 [N, pitch()]
  Tensor scale, zero;  ///< float32 [1]

  static bool halves(int bits) { return bits <= 4; }
  static int64_t pitch(int64_t width, int bits) {
    const int64_t used = halves(bits) ? ceil_div(width, int64_t{2}) : width;
    return used <= 16 ? 16 : ceil_div(used, int64_t{32}) * 32;
  }
  static ByteTensor empty(int64_t rows, int64_t width, int bits, const Tensor& scale, const Tensor& zero,
                          Device device) {
    return {bits, width, Tensor::empty({rows, pitch(width, bits)}, DType::u8, device), scale, zero};
  }
  Device device() const { return bytes.device(); }
  bool halves() const { return halves(bits); }
  int64_t pitch() const { return pitch(width, bits); }
  int64_t rows() const { return bytes.shape()[0]; }
  int largest() const { return (1 << bits) - 1; }
  ByteTensor to(Device device) const {
    return {bits, width, bytes.to(device), scale.to(device), zero.to(device)};
  }
};

namespace kernels {

/// Addresses of the numbers of a ByteTensor.
struct ByteRows {
  int64_t rows, width, pitch;
  int numbers;  ///< per byte

  explicit ByteRows(const ByteTensor& x)
      : rows(x.rows()), width(x.width), pitch(x.pitch()), numbers(x.halves() ? 2 : 1) {}
  /// Number k = row width + column.
  ADJ_HOST_DEVICE int at(const uint8_t* bytes, int64_t k) const {
    const int64_t row = k / width, column = k % width;
    const int byte = bytes[row * pitch + column / numbers];
    return numbers == 1 ? byte : byte >> column % 2 * 4 & 15;
  }
  /// Bytes without padding, each written by one thread; the place of byte i, and its value from the numbers
  /// q(k).
  ADJ_HOST_DEVICE int64_t used() const { return rows * of_row(); }
  ADJ_HOST_DEVICE int64_t place(int64_t i) const { return i / of_row() * pitch + i % of_row(); }
  template <class F>
  ADJ_HOST_DEVICE uint8_t joined(int64_t i, F&& q) const {
    const int64_t row = i / of_row(), column = i % of_row() * numbers, k = row * width + column;
    int byte = q(k);
    if (numbers > 1 && column + 1 < width) byte |= q(k + 1) << 4;
    return static_cast<uint8_t>(byte);
  }

 private:
  ADJ_HOST_DEVICE int64_t of_row() const { return (width + numbers - 1) / numbers; }
};

/// Dequantized q.
ADJ_HOST_DEVICE inline float byte_value(int q, float scale, float zero) {
  return (static_cast<float>(q) - zero) * scale;
}

namespace detail {

inline void check_bytes(std::string_view op, const ByteTensor& x, int64_t rows, int64_t width,
                        Device device) {
  ADJ_CHECK(x.bits >= 1 && x.bits <= BitTensor::kMostBits, "{}: bytes of {} bits, expected 1 to 8", op,
            x.bits);
  ADJ_CHECK(x.width == width, "{}: bytes are {} wide, expected {}", op, x.width, width);
  check_tensor(op, "bytes", x.bytes, {rows, x.pitch()}, DType::u8, device);
  check_tensor(op, "scale of bytes", x.scale, {1}, DType::f32, device);
  check_tensor(op, "zero of bytes", x.zero, {1}, DType::f32, device);
}

}  // namespace detail

/// q = round(x / scale + zero) as in pack_bits, x float32 [N, F]; bits, scale and zero of `to` are given.
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

/// Y[N,F] = scale (q - zero), float32.
struct UnpackBytesArgs {
  const ByteTensor& x;
  Tensor& y;

  Device device() const { return x.device(); }
  void check() const {
    detail::check_bytes("unpack_bytes", x, x.rows(), x.width, x.device());
    check_tensor("unpack_bytes", "y", y, {x.rows(), x.width}, DType::f32, x.device());
  }
};
ADJ_KERNEL(unpack_bytes, UnpackBytesArgs)

}  // namespace kernels

/// x [N,F] float32 as bytes of `bits` bits, with scale and zero float32 [1].
inline ByteTensor to_bytes(const Tensor& x, int bits, const Tensor& scale, const Tensor& zero) {
  ADJ_CHECK(x.dims() == 2, "to_bytes: x is {}, expected a matrix", x.str());
  ByteTensor q = ByteTensor::empty(x.shape()[0], x.shape()[1], bits, scale, zero, x.device());
  kernels::pack_bytes({.x = x, .to = q});
  return q;
}
/// Dequantized values, float32 [N,F].
inline Tensor to_values(const ByteTensor& x) {
  Tensor y = Tensor::empty({x.rows(), x.width}, DType::f32, x.device());
  kernels::unpack_bytes({.x = x, .y = y});
  return y;
}

}  // namespace adj
