#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/types/bit_scale.h>
#include <adjoint/kernels/types/packed_rows.h>

namespace adj::kernels {

namespace detail {

inline void check_packed_rows(std::string_view op, const PackedRows& q) {
  ADJ_CHECK(q.bits >= 1 && q.bits <= PackedRows::kMostBits, "{}: rows of {} bits, expected 1 to 8", op,
            q.bits);
  ADJ_CHECK(q.bytes && q.bytes.dims() == 2 && q.cols >= 0, "{}: bytes of rows are {}, expected a matrix", op,
            q.bytes.str());
  check_tensor(op, "bytes of rows", q.bytes, {q.rows(), PackedRows::row_bytes(q.cols, q.bits)}, DType::u8,
               q.device());
  for (const Tensor* one : {&q.scale, &q.zero})
    ADJ_CHECK(*one && one->dims() == 1 && (one->numel() == 1 || one->numel() == q.cols) &&
                  one->numel() == q.scale.numel() && one->dtype() == DType::f32 &&
                  one->device() == q.device(),
              "{}: scale and zero are {} and {}, expected float32 [1] or [{}] on {}", op, q.scale.str(),
              q.zero.str(), q.cols, q.device().str());
}

}  // namespace detail

/// q = round(x / scale + zero), clamped to [0, 2^bits - 1]; NaN becomes 0. x float32 [N,F]; bits, scale and
/// zero of `output` are given, its bytes are written.
struct PackRowsArgs {
  const Tensor& x;
  PackedRows& output;

  void check(std::string_view op) const {
    detail::check_packed_rows(op, output);
    check_tensor(op, "x", x, {output.rows(), output.cols}, DType::f32, output.device());
  }
};
ADJ_KERNEL(pack_rows, PackRowsArgs)  ///< Numbers to packed rows.

/// y [B,F] = dequantized rows `first` to first + B of `input`, in float32 rounded to y's type. If `rule`
/// drops elements, followed by kernels::dropout as on the full matrix of N rows: position i F + f of the
/// sequence `key` decides on number f of row i.
struct UnpackRowsArgs {
  const PackedRows& input;
  int64_t first = 0;
  RandomKey key = {};
  DropoutRule rule = {};
  Tensor& y;

  void check(std::string_view op) const {
    detail::check_packed_rows(op, input);
    check_matrix(op, "y", y);
    check_tensor(op, "y", y, {y.size(0), input.cols}, y.dtype(), input.device());
    ADJ_CHECK(first >= 0 && first + y.size(0) <= input.rows(), "{}: rows {} to {} of {}", op, first,
              first + y.size(0), input.rows());
    ADJ_CHECK(rule.threshold < 65536u, "{}: threshold {}, expected less than 65536", op, rule.threshold);
  }
};
ADJ_KERNEL(unpack_rows, UnpackRowsArgs)  ///< Packed rows to numbers.

/// 8 x 8 bit transpose: bit c of byte r becomes bit r of byte c (Warren, Hacker's Delight, section 7-3).
/// Converts eight numbers to one byte per plane, and back.
ADJ_HOST_DEVICE inline uint64_t transposed_bits(uint64_t x) {
  uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAu;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCu;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0u;
  return x ^ t ^ (t << 28);
}

/// Kernel view of PackedRows: `bytes`, `row_bytes` for the `cols` numbers of a row, of `bits` bits up to
/// `largest`; `scale` and `zero` are [cols] if `by_column`, else [1]. value() is x of q, integer() q of x.
struct PackedOperand {
  const uint8_t* bytes;
  const float *scale, *zero;
  bool by_column;
  int64_t cols, row_bytes;
  int bits, largest;

  explicit PackedOperand(const PackedRows& q)
      : bytes(q.bytes.data<uint8_t>()),
        scale(q.scale.data<float>()),
        zero(q.zero.data<float>()),
        by_column(q.scale.numel() > 1),
        cols(q.cols),
        row_bytes(PackedRows::row_bytes(q.cols, q.bits)),
        bits(q.bits),
        largest(q.largest()) {}
  /// Eight integers of a row, one byte each, from column 8 `group` on.
  ADJ_HOST_DEVICE uint64_t integers(int64_t row, int64_t group) const {
    const uint8_t* source = bytes + row * row_bytes + group * bits;
    uint64_t planes = 0;
    for (int p = 0; p < bits; ++p) planes |= static_cast<uint64_t>(source[p]) << (8 * p);
    return transposed_bits(planes);
  }
  ADJ_HOST_DEVICE float value(int q, int64_t column) const {
    const int64_t index = by_column ? column : 0;
    return scale[index] * (static_cast<float>(q) - zero[index]);
  }
  ADJ_HOST_DEVICE int integer(float x, int64_t column) const {
    const int64_t index = by_column ? column : 0;
    return quantized(x, scale[index], zero[index], largest);
  }
};

}  // namespace adj::kernels
