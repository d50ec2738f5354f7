#pragma once

#include <adjoint/kernels/bits/bit_scale.h>
#include <adjoint/kernels/bits/bit_tensor.h>
#include <adjoint/kernels/kernel.h>

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

/// q = round(x / scale + zero), clamped to [0, 2^bits - 1]; NaN becomes 0. x float32 [R,C]; scale and zero of
/// `to` are given, its planes and sums are written.
struct PackBitsArgs {
  const Tensor& x;
  PackedAlong along = PackedAlong::rows;
  BitTensor& to;

  Device device() const { return x.device(); }
  void check(std::string_view op) const { detail::check_packed(op, x, to, along); }
};
ADJ_KERNEL(pack_bits, PackBitsArgs)

/// x = scale (q - zero), float32 [R,C].
struct UnpackBitsArgs {
  const BitTensor& from;
  PackedAlong along = PackedAlong::rows;
  Tensor& x;

  Device device() const { return x.device(); }
  void check(std::string_view op) const { detail::check_packed(op, x, from, along); }
};
ADJ_KERNEL(unpack_bits, UnpackBitsArgs)

/// The same numbers as bytes; bits, scale and zero of `to` (a byte tensor) match `from`, its planes are
/// written.
struct ExpandBitsArgs {
  const BitTensor& from;
  BitTensor& to;

  Device device() const { return from.device(); }
  void check(std::string_view op) const {
    detail::check_planes(op, "from", from);
    detail::check_bits(op, "to", to);
    ADJ_CHECK(to.bytes && to.outer == from.outer && to.inner == from.inner && to.bits == from.bits &&
                  to.device() == from.device(),
              "{}: to is [{}, {}] of {} bits, expected bytes of [{}, {}] of {} bits", op, to.outer, to.inner,
              to.bits, from.outer, from.inner, from.bits);
  }
};
ADJ_KERNEL(expand_bits, ExpandBitsArgs)

}  // namespace kernels

/// x [R,C] float32 quantized to `bits` bits, with scale and zero float32 [1] or [outer].
inline BitTensor to_bits(const Tensor& x, int bits, const Tensor& scale, const Tensor& zero,
                         PackedAlong along = PackedAlong::rows) {
  ADJ_CHECK(x.dims() == 2, "to_bits: x is {}, expected a matrix", x.str());
  BitTensor q = BitTensor::empty(outer_of(x, along), inner_of(x, along), bits, scale, zero, x.device());
  kernels::pack_bits({.x = x, .along = along, .to = q});
  return q;
}

/// q with one byte per number.
inline BitTensor as_bytes(const BitTensor& q) {
  BitTensor to = BitTensor::empty(q.outer, q.inner, q.bits, q.scale, q.zero, q.device(), true);
  kernels::expand_bits({.from = q, .to = to});
  to.sums = q.sums;
  return to;
}

/// Dequantized values, float32 [R,C].
inline Tensor to_values(const BitTensor& q, PackedAlong along = PackedAlong::rows) {
  const bool by_rows = along == PackedAlong::rows;
  Tensor x =
      Tensor::empty({by_rows ? q.outer : q.inner, by_rows ? q.inner : q.outer}, DType::f32, q.device());
  kernels::unpack_bits({.from = q, .along = along, .x = x});
  return x;
}

}  // namespace adj
