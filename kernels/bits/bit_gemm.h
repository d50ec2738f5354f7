#pragma once

#include <adjoint/kernels/bits/bit_pack.h>
#include <adjoint/kernels/elementwise/unary.h>

namespace adj::kernels {

namespace detail {

inline void check_operands(std::string_view op, const BitTensor& a, const BitTensor& b) {
  check_bits(op, "a", a);
  check_bits(op, "b", b);
  ADJ_CHECK(a.inner == b.inner, "{}: a has {} numbers in a row, b {} in a column", op, a.inner, b.inner);
  ADJ_CHECK(a.device() == b.device(), "{}: a is on {}, b on {}", op, a.device().str(), b.device().str());
  ADJ_CHECK(a.bytes == b.bytes, "{}: a is of {}, b of {}, expected the same", op,
            a.bytes ? "bytes" : "planes", b.bytes ? "bytes" : "planes");
  ADJ_CHECK(int64_t{a.largest()} * b.largest() * a.inner < int64_t{1} << 31,
            "{}: sums over {} products of {} by {} bits are more than 31 bits", op, a.inner, a.bits, b.bits);
}

}  // namespace detail

/// `y` [M,N] = A B over bit tensors, `a` packed along rows (outer M) and `b` along columns (outer N), both of
/// inner K, with any bit widths: Σ_ij 2^(i+j) popcount(A_i and B_j) over their planes (QGTC, eq. 6).
///   int32    Σ_k q_a q_b, exact: requires (2^bits_a - 1) (2^bits_b - 1) K < 2^31
///   float32  the dequantized product, scale_a scale_b Σ_k (q_a - zero_a) (q_b - zero_b), from that sum and
///            the operands' own sums, in float64, rounded once; then `bias` is added
/// Identical on every device.
struct BitGemmArgs {
  const BitTensor& a;
  const BitTensor& b;
  const BitSteps* steps = nullptr;  ///< nonempty steps of A (bit_pack.h); null: all steps
  const Tensor& bias = kAbsent;     ///< float32 [N], only for a float32 product
  bool by_counts = false;           ///< on a GPU, count bits even if its tensor cores multiply them
  Tensor& y;

  void check(std::string_view op) const {
    detail::check_operands(op, a, b);
    ADJ_CHECK(y && (y.dtype() == DType::i32 || y.dtype() == DType::f32),
              "{}: y is {}, expected int32 or float32", op, y.str());
    check_tensor(op, "y", y, {a.outer, b.outer}, y.dtype(), a.device());
    ADJ_CHECK(!bias || y.dtype() == DType::f32, "{}: a bias is for float32, y is {}", op, y.str());
    if (bias) check_tensor(op, "bias", bias, {b.outer}, DType::f32, a.device());
    detail::check_steps(op, steps, a);
  }
};
ADJ_KERNEL(bit_gemm, BitGemmArgs)  ///< Product of bit tensors.

/// Correction terms of a float32 product beyond Σ q_a q_b, of a row of A or a column of B: its `scale` and
/// `zero`, and the `sum` of its q over K.
struct BitTerm {
  double scale, zero, sum;
};
/// The same for a column, plus the bias.
struct alignas(16) BitTermWithBias : BitTerm {
  float bias;  ///< -0 if absent: leaves every number unchanged
};
/// An element of the float32 product.
ADJ_HOST_DEVICE inline float bit_value(int32_t sum, const BitTerm& a, const BitTerm& b, double inner) {
  // Explicit FMAs, so that every compiler rounds the same way.
  double value = fma(-a.zero, b.sum, static_cast<double>(sum));
  value = fma(-b.zero, fma(-a.zero, inner, a.sum), value);
  return static_cast<float>(value * (a.scale * b.scale));
}

/// The float32 bit_gemm of `a` and `b` with a fused layer epilogue, requantized to bits as the left operand
/// of the next product: q of act(row_scale_m column_scale_n value + row_shift_m + column_shift_n), act the
/// `activation` none or relu, e.g. a folded batch norm and a bias (QGTC, section 4.5), with the given scale
/// and zero of `output` [M,N]; writes its planes and sums. Sums are exact, all else is float32 in the order
/// of requantized(): bitwise identical on every device. (Wᵀ Xᵀ has outputs as rows, and packs them as the
/// right operand of a sum over X's rows.)
struct BitGemmToBitsArgs {
  const BitTensor& a;
  const BitTensor& b;
  const Tensor& row_scale = kAbsent;     ///< float32 [M], absent: 1
  const Tensor& row_shift = kAbsent;     ///< float32 [M], absent: 0
  const Tensor& column_scale = kAbsent;  ///< float32 [N], absent: 1
  const Tensor& column_shift = kAbsent;  ///< float32 [N], absent: 0
  Activation activation = Activation::none;
  const BitSteps* steps = nullptr;  ///< nonempty steps of A (bit_pack.h); null: all steps
  bool share_steps = true;          ///< on tensor cores, read A once for several planes of a narrow B
  BitTensor& output;

  void check(std::string_view op) const {
    detail::check_operands(op, a, b);
    detail::check_bits(op, "output", output);
    ADJ_CHECK(output.outer == a.outer && output.inner == b.outer && output.device() == a.device(),
              "{}: output is [{}, {}] on {}, expected [{}, {}] on {}", op, output.outer, output.inner,
              output.device().str(), a.outer, b.outer, a.device().str());
    for (const Tensor* one : {&row_scale, &row_shift})
      if (*one) check_tensor(op, "row_scale or row_shift", *one, {a.outer}, DType::f32, a.device());
    for (const Tensor* one : {&column_scale, &column_shift})
      if (*one) check_tensor(op, "column_scale or column_shift", *one, {b.outer}, DType::f32, a.device());
    detail::check_steps(op, steps, a);
    check_fused(op, activation);
  }
};
ADJ_KERNEL(bit_gemm_to_bits, BitGemmToBitsArgs)  ///< Product of bit tensors, requantized to bits or bytes.

/// The same with byte output, as rows for a neighbor gather: the same q of `a`, `b` and `activation`, with
/// the given scale and zero of `output` [M,N].
struct BitGemmToBytesArgs {
  const BitTensor& a;
  const BitTensor& b;
  const Tensor& column_scale = kAbsent;  ///< float32 [N], absent: 1
  const Tensor& column_shift = kAbsent;  ///< float32 [N], absent: 0
  Activation activation = Activation::none;
  ByteTensor& output;

  void check(std::string_view op) const {
    detail::check_operands(op, a, b);
    detail::check_bytes(op, output, a.outer, b.outer, a.device());
    for (const Tensor* one : {&column_scale, &column_shift})
      if (*one) check_tensor(op, "column_scale or column_shift", *one, {b.outer}, DType::f32, a.device());
    check_fused(op, activation);
  }
};
ADJ_KERNEL(bit_gemm_to_bytes, BitGemmToBytesArgs)  ///< Product of bit tensors, requantized to byte rows.

/// Row terms of a requantized product: those of the left operand times the epilogue's scale, and the
/// quantization of the result.
struct BitRow {
  float scale, zero, shift;  ///< scale_a row_scale, zero_a, row_shift
  float rest;                ///< K zero - Σ q
  float inverse, to_zero;    ///< 1 / the result's scale, and its zero
  float least;               ///< lower clamp: 0, or the zero point after relu
};
/// Column terms: those of the right operand times the epilogue's scale.
struct alignas(16) BitColumn {
  float scale, zero, sum, shift;  ///< scale_b column_scale, zero_b, Σ q_b, column_shift
};
/// q of a sum of products (converted to float32) before clamping to `largest` and rounding. relu is in
/// row.least: negative values end up below the zero point, as 1 / scale is positive. NaN becomes least.
ADJ_HOST_DEVICE inline float requantized_unrounded(float sum, const BitRow& row, const BitColumn& column) {
  float value = fmaf(-row.zero, column.sum, sum);
  value = fmaf(column.zero, row.rest, value);
  value = fmaf(value, row.scale * column.scale, row.shift + column.shift);
  return fmaxf(fmaf(value, row.inverse, row.to_zero), row.least);
}
/// q of a sum of products.
ADJ_HOST_DEVICE inline int requantized(int32_t sum, const BitRow& row, const BitColumn& column, int largest) {
  return held_integer(requantized_unrounded(static_cast<float>(sum), row, column), largest);
}

/// One output bit by integer arithmetic only, for a product whose rows differ only in their sums and whose
/// zeros are multiples of 1/2: with v = sum - zero_a sum_b + zero_b rest, the bit is 4 v >= `least`, or its
/// inverse. 4 v is an integer, and all steps of requantized_unrounded() before the scale are exact.
struct BitThreshold {
  int32_t least;
  bool inverted;  ///< the bit is 4 v < least
};
/// Bound of |4 v|, valid if (2^bits_a - 1) (2^bits_b - 1) K is less than a fourth of it: exact in float32.
constexpr int kThresholdMost = 1 << 23;
/// Thresholds of kCount columns, searched together. `row`: any of the rows. The bit is monotonic in v, as
/// every rounding preserves order; if it is constant, least is beyond all v.
template <int kCount>
ADJ_HOST_DEVICE inline void bit_thresholds(const BitRow& row, const BitColumn (&columns)[kCount],
                                           BitThreshold (&thresholds)[kCount]) {
  // For a row with zero and rest 0, the sum is v itself.
  const BitRow alike{row.scale, 0.0f, row.shift, 0.0f, row.inverse, row.to_zero, row.least};
  const auto bit = [&](float v4, const BitColumn& column) {
    return requantized_unrounded(v4 * 0.25f, alike, column) > 0.5f;  // 0.5 rounds to 0
  };
  float below[kCount];  // largest known 4 v with the same bit as the smallest
  for (int i = 0; i < kCount; ++i) {
    below[i] = -static_cast<float>(kThresholdMost);
    thresholds[i].inverted = bit(below[i], columns[i]);
  }
  for (int step = kThresholdMost; step > 0; step /= 2)
    for (int i = 0; i < kCount; ++i) {
      const float next = below[i] + static_cast<float>(step);
      if (bit(next, columns[i]) == thresholds[i].inverted) below[i] = next;
    }
  for (int i = 0; i < kCount; ++i) thresholds[i].least = static_cast<int32_t>(below[i]) + 1;
}
/// Four times a zero if it is a multiple of 1/2 within [0, largest], else -1.
ADJ_HOST_DEVICE inline int four_zeros(float zero, int largest) {
  const float twice = zero * 2.0f;
  return zero >= 0.0f && zero <= static_cast<float>(largest) && twice == rintf(twice)
             ? static_cast<int>(twice) * 2
             : -1;
}

}  // namespace adj::kernels
