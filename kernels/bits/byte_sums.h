#pragma once

#include <adjoint/kernels/bits/bit_gemm.h>
#include <adjoint/kernels/bits/row_order.h>
#include <adjoint/kernels/sparse/csr.h>

namespace adj {

namespace kernels {

/// Y[M,F] = row_scale_i column_scale_f Σ_j x_jf + column_shift_f over the entries (i, j) of `a`, e.g. a mean
/// and a folded batch norm, quantized to bytes with the given scale and zero of `output`; writes its bytes
/// and sums. Bitwise equal to bit_gemm_to_bits of adjacency_bits(a) and x as bits along columns, but by row
/// gathers: for structures with few entries per row. Entries may repeat.
struct SumBytesToBitsArgs {
  const Csr& a;
  const RowOrder& order;  ///< of `a`
  const ByteTensor& x;
  const Tensor& row_scale = kAbsent;     ///< float32 [M], absent: 1
  const Tensor& column_scale = kAbsent;  ///< float32 [F], absent: 1
  const Tensor& column_shift = kAbsent;  ///< float32 [F], absent: 0
  BitTensor& output;                     ///< of bytes

  void check(std::string_view op) const {
    check_csr(op, a);
    detail::check_bits(op, "output", output);
    ADJ_CHECK(output.bytes, "{}: output is of bit planes, expected bytes", op);
    detail::check_bytes(op, x, a.cols, output.inner, a.device());
    ADJ_CHECK(order.rows, "{}: there is no order of rows", op);
    check_tensor(op, "order", order.rows, {a.rows, 4}, DType::i32, a.device());
    ADJ_CHECK(output.outer == a.rows && output.device() == a.device(),
              "{}: output is [{}, {}] on {}, expected {} rows on {}", op, output.outer, output.inner,
              output.device().str(), a.rows, a.device().str());
    if (row_scale) check_tensor(op, "row_scale", row_scale, {a.rows}, DType::f32, a.device());
    for (const Tensor* one : {&column_scale, &column_shift})
      if (*one)
        check_tensor(op, "column_scale or column_shift", *one, {output.inner}, DType::f32, a.device());
  }
};
ADJ_KERNEL(sum_bytes_to_bits, SumBytesToBitsArgs)  ///< Sums of neighbors' byte rows, as a BitTensor.

/// Column terms of a byte sum, as in BitResult::column.
ADJ_HOST_DEVICE inline BitColumn byte_sum_column(float x_scale, float x_zero, const float* column_scale,
                                                 const float* column_shift, int64_t column) {
  return {.scale = x_scale * (column_scale != nullptr ? column_scale[column] : 1.0f),
          .zero = x_zero,
          .sum = 0.0f,
          .shift = column_shift != nullptr ? column_shift[column] : 0.0f};
}

/// Row terms of a byte sum, as in BitResult::row for adjacency_bits().
ADJ_HOST_DEVICE inline BitRow byte_sum_row(int64_t entries, float row_scale, float to_scale, float to_zero) {
  return {.scale = row_scale,
          .zero = 0.0f,
          .shift = 0.0f,
          .rest = -static_cast<float>(entries),
          .inverse = 1.0f / to_scale,
          .to_zero = to_zero,
          .least = 0.0f};
}

}  // namespace kernels

}  // namespace adj
