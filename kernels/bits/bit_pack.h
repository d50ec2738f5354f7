#pragma once

#include <adjoint/kernels/bits/bit_tensor.h>
#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/sparse/csr.h>
#include <adjoint/kernels/types/bit_scale.h>
#include <adjoint/kernels/types/byte_tensor.h>

#include <optional>

namespace adj {

namespace kernels {

namespace detail {

inline void check_bits(std::string_view op, std::string_view name, const BitTensor& q) {
  ADJ_CHECK(q.bits >= 1 && q.bits <= BitTensor::kMostBits, "{}: {} has {} bits, expected 1 to 8", op, name,
            q.bits);
  ADJ_CHECK(q.outer < int64_t{1} << 31 && q.inner < int64_t{1} << 31,
            "{}: {} is [{}, {}], expected less than 2^31 each way", op, name, q.outer, q.inner);
  const Device device = q.planes.device();
  check_tensor(op, name, q.planes, {q.num_planes(), q.steps(), q.padded_rows(), BitTensor::kRowBytes},
               DType::u8, device);
  check_tensor(op, "sums", q.sums, {q.outer}, DType::i32, device);
  for (const Tensor* one : {&q.scale, &q.zero})
    ADJ_CHECK(*one && one->dims() == 1 && (one->numel() == 1 || one->numel() == q.outer) &&
                  one->dtype() == DType::f32 && one->device() == device,
              "{}: scale and zero are {} and {}, expected float32 [1] or [{}] on {}", op, q.scale.str(),
              q.zero.str(), q.outer, device.str());
}

/// The same, for bit planes only.
inline void check_planes(std::string_view op, std::string_view name, const BitTensor& q) {
  check_bits(op, name, q);
  ADJ_CHECK(!q.bytes, "{}: {} is of bytes, expected bit planes", op, name);
}

inline void check_packed(std::string_view op, const Tensor& x, const BitTensor& q, PackedAlong along) {
  check_planes(op, "the bit tensor", q);
  const Shape shape = along == PackedAlong::rows ? Shape{q.outer, q.inner} : Shape{q.inner, q.outer};
  check_tensor(op, "x", x, shape, DType::f32, q.device());
}

inline void check_steps(std::string_view op, const BitSteps* steps, const BitTensor& q) {
  if (steps == nullptr) return;
  check_planes(op, "an operand with steps", q);
  const int64_t tiles = ceil_div(q.outer, BitSteps::kRows);
  ADJ_CHECK(steps->outer == q.outer && steps->steps == q.steps(),
            "{}: steps of a bit tensor of {} rows and {} steps, expected {} and {}", op, steps->outer,
            steps->steps, q.outer, q.steps());
  check_tensor(op, "counts of steps", steps->counts, {tiles}, DType::i32, q.device());
  check_tensor(op, "list of steps", steps->list, {tiles, q.steps()}, DType::i32, q.device());
}

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

/// q = round(x / scale + zero), clamped to [0, 2^bits - 1]; NaN becomes 0. x float32 [R,C], packed `along`
/// rows or columns; scale and zero of `output` are given, its planes and sums are written.
struct PackBitsArgs {
  const Tensor& x;
  PackedAlong along = PackedAlong::rows;
  BitTensor& output;

  void check(std::string_view op) const { detail::check_packed(op, x, output, along); }
};
ADJ_KERNEL(pack_bits, PackBitsArgs)  ///< Numbers to bit planes.

/// x = scale (q - zero), float32 [R,C], for q of `input`, packed `along` rows or columns.
struct UnpackBitsArgs {
  const BitTensor& input;
  PackedAlong along = PackedAlong::rows;
  Tensor& x;

  void check(std::string_view op) const { detail::check_packed(op, x, input, along); }
};
ADJ_KERNEL(unpack_bits, UnpackBitsArgs)  ///< Bit planes to numbers.

/// The same numbers as bytes; bits, scale and zero of `output` (a byte tensor) match `input`, its planes are
/// written.
struct ExpandBitsArgs {
  const BitTensor& input;
  BitTensor& output;

  Device device() const { return input.device(); }  ///< of all arguments
  void check(std::string_view op) const {
    detail::check_planes(op, "input", input);
    detail::check_bits(op, "output", output);
    ADJ_CHECK(output.bytes && output.outer == input.outer && output.inner == input.inner &&
                  output.bits == input.bits && output.device() == input.device(),
              "{}: output is [{}, {}] of {} bits, expected bytes of [{}, {}] of {} bits", op, output.outer,
              output.inner, output.bits, input.outer, input.inner, input.bits);
  }
};
ADJ_KERNEL(expand_bits, ExpandBitsArgs)  ///< Bit planes to bytes.

/// Fills counts and list of `output`, allocated as described at BitSteps, for the bit planes `input`.
struct FindBitStepsArgs {
  const BitTensor& input;
  BitSteps& output;

  Device device() const { return input.device(); }  ///< of all arguments
  void check(std::string_view op) const {
    detail::check_planes(op, "the bit tensor", input);
    detail::check_steps(op, &output, input);
  }
};
ADJ_KERNEL(find_bit_steps, FindBitStepsArgs)  ///< The nonempty steps of bit planes.

/// Sets the bits of the entries of the structure `a` in `output` [rows, cols], one bit each, packed along
/// rows; writes planes and sums. `repeats` int32 [1]: number of entries whose bit was already set.
struct AdjacencyBitsArgs {
  const Csr& a;
  BitTensor& output;
  Tensor& repeats;

  void check(std::string_view op) const {
    check_csr(op, a);
    detail::check_planes(op, "the bit tensor", output);
    ADJ_CHECK(
        output.outer == a.rows && output.inner == a.cols && output.bits == 1 && output.device() == a.device(),
        "{}: output is [{}, {}] of {} bits on {}, expected [{}, {}] of one bit on {}", op, output.outer,
        output.inner, output.bits, output.device().str(), a.rows, a.cols, a.device().str());
    check_tensor(op, "repeats", repeats, {1}, DType::i32, a.device());
  }
};
ADJ_KERNEL(adjacency_bits, AdjacencyBitsArgs)  ///< The entries of a structure as bits.

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

/// q = round(x / scale + zero) as in pack_bits, x float32 [N, F]; bits, scale and zero of `output` are given.
struct PackBytesArgs {
  const Tensor& x;
  ByteTensor& output;

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

  void check(std::string_view op) const {
    detail::check_bytes(op, x, x.rows(), x.width, x.device(), true);
    detail::check_bytes(op, output, x.rows(), x.width, x.device(), true);
    ADJ_CHECK(output.bits == x.bits, "{}: {} bits to {}", op, x.bits, output.bits);
  }
};
ADJ_KERNEL(repack_bytes, RepackBytesArgs)  ///< Byte rows to narrow ones or back.

}  // namespace kernels

/// x [R,C] float32 quantized to `bits` bits, with scale and zero float32 [1] or [outer].
inline BitTensor to_bits(const Tensor& x, int bits, const Tensor& scale, const Tensor& zero,
                         PackedAlong along = PackedAlong::rows) {
  ADJ_CHECK(x.dims() == 2, "to_bits: x is {}, expected a matrix", x.str());
  BitTensor q = BitTensor::empty(outer_of(x, along), inner_of(x, along), bits, scale, zero, x.device());
  kernels::pack_bits({.x = x, .along = along, .output = q});
  return q;
}

/// q with one byte per number.
inline BitTensor as_bytes(const BitTensor& q) {
  BitTensor result = BitTensor::empty(q.outer, q.inner, q.bits, q.scale, q.zero, q.device(), true);
  kernels::expand_bits({.input = q, .output = result});
  result.sums = q.sums;
  return result;
}

/// Dequantized values, float32 [R,C].
inline Tensor to_values(const BitTensor& q, PackedAlong along = PackedAlong::rows) {
  const bool by_rows = along == PackedAlong::rows;
  Tensor x =
      Tensor::empty({by_rows ? q.outer : q.inner, by_rows ? q.inner : q.outer}, DType::f32, q.device());
  kernels::unpack_bits({.input = q, .along = along, .x = x});
  return x;
}

/// The nonempty steps of `q`.
inline BitSteps bit_steps(const BitTensor& q) {
  const int64_t tiles = ceil_div(q.outer, BitSteps::kRows);
  BitSteps result{q.outer, q.steps(), Tensor::empty({tiles}, DType::i32, q.device()),
                  Tensor::empty({tiles, q.steps()}, DType::i32, q.device())};
  kernels::find_bit_steps({.input = q, .output = result});
  return result;
}

/// The adjacency matrix of a structure with one bit per entry (QGTC, section 4.1), as a left operand. Empty
/// if there are duplicate entries, which one bit cannot represent; checking this synchronizes with the
/// device.
inline std::optional<BitTensor> adjacency_bits(const Csr& a) {
  const Device device = a.device();
  BitTensor bits = BitTensor::empty(a.rows, a.cols, 1, Tensor::full({1}, 1.0, DType::f32, device),
                                    Tensor::zeros({1}, DType::f32, device), device);
  Tensor repeats = Tensor::empty({1}, DType::i32, device);
  kernels::adjacency_bits({.a = a, .output = bits, .repeats = repeats});
  if (repeats.to_vector<int32_t>()[0] > 0) return {};
  return bits;
}

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
