#pragma once

#include <adjoint/kernels/bits/bit_tensor.h>
#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/types/byte_tensor.h>

namespace adj {

namespace kernels {

/// Addresses of the numbers of a ByteTensor of `rows` rows, `width` numbers and `pitch` bytes each; at()
/// reads one. place() is the offset of used byte i, and joined() its value from the numbers q(row, column).
struct ByteRows {
  int64_t rows, width, pitch;
  int bits;  ///< that a number takes

  explicit ByteRows(const ByteTensor& x)
      : rows(x.rows()), width(x.width), pitch(x.pitch()), bits(x.place_bits()) {}
  ADJ_HOST_DEVICE int at(const uint8_t* bytes, int64_t row, int64_t column) const {
    return bytes[row * pitch + column * bits / 8] >> column * bits % 8 & ((1 << bits) - 1);
  }
  /// Bytes without padding, each written by one thread.
  ADJ_HOST_DEVICE int64_t used() const { return rows * of_row(); }
  ADJ_HOST_DEVICE int64_t place(int64_t i) const { return i / of_row() * pitch + i % of_row(); }
  template <class F>
  ADJ_HOST_DEVICE uint8_t joined(int64_t i, F&& q) const {
    const int64_t row = i / of_row(), first = i % of_row() * (8 / bits);
    int byte = 0;
    for (int k = 0; k < 8 / bits && first + k < width; ++k) byte |= q(row, first + k) << k * bits;
    return static_cast<uint8_t>(byte);
  }

 private:
  ADJ_HOST_DEVICE int64_t of_row() const { return (width * bits + 7) / 8; }
};

/// Dequantized q.
ADJ_HOST_DEVICE inline float byte_value(int q, float scale, float zero) {
  return (static_cast<float>(q) - zero) * scale;
}

namespace detail {

/// `narrow`: may they be?
inline void check_bytes(std::string_view op, const ByteTensor& x, int64_t rows, int64_t width, Device device,
                        bool narrow = false) {
  ADJ_CHECK(x.bits >= 1 && x.bits <= BitTensor::kMostBits, "{}: bytes of {} bits, expected 1 to 8", op,
            x.bits);
  ADJ_CHECK(x.width == width, "{}: bytes are {} wide, expected {}", op, x.width, width);
  ADJ_CHECK(narrow || !x.narrow, "{}: narrow bytes, expected padded ones (repack_bytes)", op);
  check_tensor(op, "bytes", x.bytes, {rows, x.pitch()}, DType::u8, device);
  check_tensor(op, {{"scale of bytes", x.scale}, {"zero of bytes", x.zero}}, {1}, DType::f32, device);
}

}  // namespace detail

/// q = round(x / scale + zero) as in pack_bits, x float32 [N, F]; bits, scale and zero of `output` are given.
struct PackBytesArgs {
  const Tensor& x;
  ByteTensor& output;

  Device device() const { return x.device(); }  ///< of all arguments
  void check(std::string_view op) const {
    ADJ_CHECK(x.dims() == 2 && x.dtype() == DType::f32, "{}: x is {}, expected a float32 matrix", op,
              x.str());
    detail::check_bytes(op, output, x.shape()[0], x.shape()[1], x.device());
  }
};
ADJ_KERNEL(pack_bytes, PackBytesArgs)  ///< Numbers to byte rows.

/// `y` [N,F] = scale (q - zero), float32, for q of `x`.
struct UnpackBytesArgs {
  const ByteTensor& x;
  Tensor& y;

  Device device() const { return x.device(); }  ///< of all arguments
  void check(std::string_view op) const {
    detail::check_bytes(op, x, x.rows(), x.width, x.device());
    check_tensor(op, "y", y, {x.rows(), x.width}, DType::f32, x.device());
  }
};
ADJ_KERNEL(unpack_bytes, UnpackBytesArgs)  ///< Byte rows to numbers.

/// The numbers of x in the bytes of `output`, which has its bits and width; either may be narrow.
struct RepackBytesArgs {
  const ByteTensor& x;
  ByteTensor& output;

  Device device() const { return x.device(); }  ///< of all arguments
  void check(std::string_view op) const {
    detail::check_bytes(op, x, x.rows(), x.width, x.device(), true);
    detail::check_bytes(op, output, x.rows(), x.width, x.device(), true);
    ADJ_CHECK(output.bits == x.bits, "{}: {} bits to {}", op, x.bits, output.bits);
  }
};
ADJ_KERNEL(repack_bytes, RepackBytesArgs)  ///< Byte rows to narrow ones or back.

}  // namespace kernels

/// x [N,F] float32 as bytes of `bits` bits, with scale and zero float32 [1].
inline ByteTensor to_bytes(const Tensor& x, int bits, const Tensor& scale, const Tensor& zero) {
  ADJ_CHECK(x.dims() == 2, "to_bytes: x is {}, expected a matrix", x.str());
  ByteTensor q = ByteTensor::empty(x.shape()[0], x.shape()[1], bits, scale, zero, x.device());
  kernels::pack_bytes({.x = x, .output = q});
  return q;
}
/// x with narrow rows: fewer bytes to copy.
inline ByteTensor narrowed(const ByteTensor& x) {
  ByteTensor result{x.bits, x.width, {}, x.scale, x.zero, true};
  result.bytes = Tensor::empty({x.rows(), result.pitch()}, DType::u8, x.device());
  kernels::repack_bytes({.x = x, .output = result});
  return result;
}
/// float32 [N,F]: the represented values.
inline Tensor to_values(const ByteTensor& x) {
  Tensor y = Tensor::empty({x.rows(), x.width}, DType::f32, x.device());
  kernels::unpack_bytes({.x = x, .y = y});
  return y;
}

}  // namespace adj
