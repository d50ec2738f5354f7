#pragma once

#include <adjoint/kernels/bits/byte_tensor.h>

namespace adj {

namespace kernels {

/// Bits per integer of `bits` bits when several share a byte: 1, 2, 4 or 8.
inline int narrow_width(int bits) { return bits <= 2 ? bits : bits <= 4 ? 4 : 8; }
inline int64_t narrow_bytes_of(int64_t numbers, int bits) {
  return ceil_div(numbers, 8 / narrow_width(bits));
}

/// Packs the numbers of a byte tensor tightly, for transfer over links slower than memory
/// (bandwidth-optimized packing, QGTC, section 4.6): number i of x [N,F], rows contiguous without padding,
/// takes narrow_width() bits of `to` uint8 [narrow_bytes_of()], from bit i width, lowest bits of a byte
/// first; the bits after the last number are 0.
struct NarrowBytesArgs {
  const ByteTensor& x;
  Tensor& to;

  Device device() const { return x.device(); }
  void check() const {
    constexpr std::string_view op = "narrow_bytes";
    detail::check_bytes(op, x, x.rows(), x.width, x.device());
    check_tensor(op, "to", to, {narrow_bytes_of(x.rows() * x.width, x.bits)}, DType::u8, x.device());
  }
};
ADJ_KERNEL(narrow_bytes, NarrowBytesArgs)

/// The inverse; bits, scale and zero of `to` are given, its bytes are written.
struct WidenBytesArgs {
  const Tensor& from;
  ByteTensor& to;

  Device device() const { return to.device(); }
  void check() const {
    constexpr std::string_view op = "widen_bytes";
    detail::check_bytes(op, to, to.rows(), to.width, to.device());
    check_tensor(op, "from", from, {narrow_bytes_of(to.rows() * to.width, to.bits)}, DType::u8, to.device());
  }
};
ADJ_KERNEL(widen_bytes, WidenBytesArgs)

/// Layout of tightly packed numbers, without padding between rows.
struct NarrowPlaces {
  ByteRows rows;
  int width;  ///< bits per number there

  explicit NarrowPlaces(const ByteTensor& x) : rows(x), width(narrow_width(x.bits)) {}
  /// Packed byte i, from the rows' bytes.
  ADJ_HOST_DEVICE uint8_t narrowed(const uint8_t* bytes, int64_t i) const {
    const int share = 8 / width;
    int byte = 0;
    for (int k = 0; k < share && i * share + k < rows.rows * rows.width; ++k)
      byte |= rows.at(bytes, i * share + k) << k * width;
    return static_cast<uint8_t>(byte);
  }
  /// Used byte i of the rows, from the packed bytes.
  ADJ_HOST_DEVICE uint8_t widened(const uint8_t* narrow, int64_t i) const {
    return rows.joined(
        i, [&](int64_t k) { return narrow[k * width / 8] >> k * width % 8 & ((1 << width) - 1); });
  }
};

}  // namespace kernels

/// uint8: x packed by narrow_bytes.
inline Tensor narrow_bytes(const ByteTensor& x) {
  Tensor to = Tensor::empty({kernels::narrow_bytes_of(x.rows() * x.width, x.bits)}, DType::u8, x.device());
  kernels::narrow_bytes({.x = x, .to = to});
  return to;
}

}  // namespace adj
