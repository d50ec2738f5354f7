#pragma once

#include <adjoint/kernels/bits/bit_pack.h>

namespace adj::kernels {

/// Y[M,N] = A B over bit tensors, A packed along rows (outer M) and B along columns (outer N), both of inner
/// K, any bits by any bits: Σ_ij 2^(i+j) popcount(A_i and B_j) over their planes (QGTC, eq. 6).
///   int32    Σ_k q_a q_b, exact: (2^bits_a - 1) (2^bits_b - 1) K is to be less than 2^31
///   float32  what both stand for, scale_a scale_b Σ_k (q_a - zero_a) (q_b - zero_b), from that sum and the
///            operands' own, in float64, rounded once
/// The same numbers on every device.
struct BitGemmArgs {
  const BitTensor& a;
  const BitTensor& b;
  Tensor& y;

  Device device() const { return y.device(); }
  void check() const {
    detail::check_bits("bit_gemm", "a", a);
    detail::check_bits("bit_gemm", "b", b);
    ADJ_CHECK(a.inner == b.inner, "bit_gemm: a has {} numbers in a row, b {} in a column", a.inner, b.inner);
    ADJ_CHECK(a.device() == b.device(), "bit_gemm: a is on {}, b on {}", a.device().str(), b.device().str());
    ADJ_CHECK(y && (y.dtype() == DType::i32 || y.dtype() == DType::f32),
              "bit_gemm: y is {}, expected int32 or float32", y.str());
    check_tensor("bit_gemm", "y", y, {a.outer, b.outer}, y.dtype(), a.device());
    ADJ_CHECK(int64_t{a.largest()} * b.largest() * a.inner < int64_t{1} << 31,
              "bit_gemm: sums over {} products of {} by {} bits are more than 31 bits", a.inner, a.bits,
              b.bits);
  }
};
ADJ_KERNEL(bit_gemm, BitGemmArgs)

/// What float32 products add to Σ q_a q_b, of a row of A or a column of B.
struct BitTerm {
  double scale, zero, sum;
};
/// The float32 product of a row and a column.
ADJ_HOST_DEVICE inline float bit_value(int32_t sum, const BitTerm& a, const BitTerm& b, double inner) {
  // Fused by hand, so that no compiler does it otherwise.
  double value = fma(-a.zero, b.sum, static_cast<double>(sum));
  value = fma(-b.zero, fma(-a.zero, inner, a.sum), value);
  return static_cast<float>(value * (a.scale * b.scale));
}

}  // namespace adj::kernels
