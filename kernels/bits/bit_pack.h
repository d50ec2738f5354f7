#pragma once

#include <adjoint/kernels/bits/bit_tensor.h>
#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/types/bit_scale.h>

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

}  // namespace detail

/// q = round(x / scale + zero), clamped to [0, 2^bits - 1]; NaN becomes 0. x float32 [R,C], packed `along`
/// rows or columns; scale and zero of `output` are given, its planes and sums are written.
struct PackBitsArgs {
  const Tensor& x;
  PackedAlong along = PackedAlong::rows;
  BitTensor& output;

  Device device() const { return x.device(); }  ///< of all arguments
  void check(std::string_view op) const { detail::check_packed(op, x, output, along); }
};
ADJ_KERNEL(pack_bits, PackBitsArgs)  ///< Numbers to bit planes.

/// x = scale (q - zero), float32 [R,C], for q of `input`, packed `along` rows or columns.
struct UnpackBitsArgs {
  const BitTensor& input;
  PackedAlong along = PackedAlong::rows;
  Tensor& x;

  Device device() const { return x.device(); }  ///< of all arguments
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

}  // namespace adj
