#pragma once

// Kernel views of bit tensors, on either device.

#include <adjoint/kernels/bits/bit_gemm.h>

#include <type_traits>

namespace adj::kernels {

/// The first of `numbers` for all rows or, if `each`, one per row; at() gives that of a row.
struct PerRow {
  const float* numbers;
  bool each;

  explicit PerRow(const Tensor& tensor) : numbers(tensor.data<float>()), each(tensor.numel() != 1) {}
  PerRow() = default;
  ADJ_HOST_DEVICE float at(int64_t row) const { return numbers[each ? row : 0]; }
};

/// `scale` and `zero` for fake quantization: per row (`by_row`), per column (`by_column`), or one for all.
/// Rows with a nonzero `keep` [R] are kept(); null: none are. `largest` is the largest q, 2^bits - 1.
struct FakeRanges {
  PerRow scale, zero;
  bool by_row, by_column;
  const uint8_t* keep;
  int largest;

  /// `args`: of the op or its gradient (bit_range.h).
  template <class Args>
  explicit FakeRanges(const Args& args)
      : scale(args.scale),
        zero(args.zero),
        by_row(scale.each && args.along == PackedAlong::rows),
        by_column(scale.each && args.along == PackedAlong::columns),
        keep(args.keep ? args.keep.template data<uint8_t>() : nullptr),
        largest((1 << args.bits) - 1) {}
  ADJ_HOST_DEVICE bool kept(int64_t row) const { return keep != nullptr && keep[row] != 0; }
};

/// A BitTensor as an operand: `outer` rows in `planes`, these `plane_bytes` and their steps `step_bytes`
/// apart, with `scale`, `zero` and `sums` (Σ q). term(): of a row, or of a column and its bias (null: none).
struct BitOperand {
  const uint8_t* planes;
  int64_t plane_bytes, step_bytes;
  int outer;
  int bits;  ///< number of planes
  PerRow scale, zero;
  const int32_t* sums;

  BitOperand() = default;
  explicit BitOperand(const BitTensor& q)
      : planes(q.planes.data<uint8_t>()),
        plane_bytes(q.plane_bytes()),
        step_bytes(q.step_bytes()),
        outer(static_cast<int>(q.outer)),
        bits(q.num_planes()),
        scale(q.scale),
        zero(q.zero),
        sums(q.sums.data<int32_t>()) {}
  ADJ_HOST_DEVICE BitTerm term(int64_t row) const {
    return {static_cast<double>(scale.at(row)), static_cast<double>(zero.at(row)),
            static_cast<double>(sums[row])};
  }
  ADJ_HOST_DEVICE BitTermWithBias term(int64_t column, const float* bias) const {
    return {term(column), bias != nullptr ? bias[column] : -0.0f};
  }
  /// q at `place` (bit_place) of number `k` of a row.
  ADJ_HOST_DEVICE int integer(int64_t place, int64_t k) const {
    int q = 0;
    for (int p = 0; p < bits; ++p) q |= (planes[p * plane_bytes + place] >> (k % 8) & 1) << p;
    return q;
  }
};

/// Output of a requantized product and the layer's epilogue, with `row_scale` and `column_scale`; row() and
/// column() join it with the terms of an operand (`inner`: K). numbers_of() an absent tensor is null.
struct BitResult {
  uint8_t* bytes =
      nullptr;        ///< a byte each: rows or, with a step_bytes, a BitTensor of bytes; or null: planes
  int64_t pitch = 0;  ///< of rows of bytes
  uint8_t* planes = nullptr;                                     ///< of a BitTensor; null: a ByteTensor
  int64_t plane_bytes = 0, step_bytes = 0;                       ///< of a BitTensor; 0: a ByteTensor
  int bits = 0, largest = 0;                                     ///< those of q, and the largest q
  PerRow scale, zero;                                            ///< of q
  int32_t* sums = nullptr;                                       ///< on a GPU zeros before
  const float *row_scale = nullptr, *row_shift = nullptr;        ///< [M], or null
  const float *column_scale = nullptr, *column_shift = nullptr;  ///< [N], or null
  bool relu = false;                                             ///< else no activation

  static const float* numbers_of(const Tensor& x) { return x ? x.data<float>() : nullptr; }

  BitResult() = default;
  /// `args`: of bit_gemm_to_bits or bit_gemm_to_bytes.
  template <class Args>
  explicit BitResult(const Args& args)
      : bits(args.output.bits),
        largest(args.output.largest()),
        scale(args.output.scale),
        zero(args.output.zero),
        column_scale(numbers_of(args.column_scale)),
        column_shift(numbers_of(args.column_shift)),
        relu(args.activation == Activation::relu) {
    if constexpr (std::is_same_v<Args, BitGemmToBytesArgs>) {
      bytes = args.output.bytes.template mutable_data<uint8_t>();
      pitch = args.output.pitch();
    } else {
      planes = args.output.planes.template mutable_data<uint8_t>();
      if (args.output.bytes) bytes = planes;
      plane_bytes = args.output.plane_bytes();
      step_bytes = args.output.step_bytes();
      sums = args.output.sums.template mutable_data<int32_t>();
      row_scale = numbers_of(args.row_scale);
      row_shift = numbers_of(args.row_shift);
    }
  }
  /// True if rows have two numbers per byte (ByteTensor).
  ADJ_HOST_DEVICE bool halves() const { return pitch > 0 && bits <= 4; }
  /// Position of a number's byte; eight numbers from a multiple of eight on are adjacent.
  ADJ_HOST_DEVICE uint8_t* byte_at(int64_t r, int64_t c) const {
    return bytes + (step_bytes > 0 ? byte_place(step_bytes, r, c) : r * pitch + (halves() ? c / 2 : c));
  }
  ADJ_HOST_DEVICE BitRow row(const BitOperand& a, int64_t r, float inner) const {
    const float to_zero = zero.at(r), of_zero = a.zero.at(r);
    return {.scale = a.scale.at(r) * (row_scale != nullptr ? row_scale[r] : 1.0f),
            .zero = of_zero,
            .shift = row_shift != nullptr ? row_shift[r] : 0.0f,
            .rest = fmaf(inner, of_zero, -static_cast<float>(a.sums[r])),
            .inverse = 1.0f / scale.at(r),
            .to_zero = to_zero,
            .least = relu && to_zero > 0.0f ? to_zero : 0.0f};
  }
  ADJ_HOST_DEVICE BitColumn column(const BitOperand& b, int64_t c) const {
    return {.scale = b.scale.at(c) * (column_scale != nullptr ? column_scale[c] : 1.0f),
            .zero = b.zero.at(c),
            .sum = static_cast<float>(b.sums[c]),
            .shift = column_shift != nullptr ? column_shift[c] : 0.0f};
  }
};

}  // namespace adj::kernels
