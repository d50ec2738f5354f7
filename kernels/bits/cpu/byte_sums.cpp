#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/bits/byte_sums.h>

#include <vector>

namespace adj::kernels::cpu {

void pack_bytes(const PackBytesArgs& args) {
  const auto* x = args.x.data<float>();
  auto* to = args.to.bytes.mutable_data<uint8_t>();
  const float scale = args.to.scale.data<float>()[0], zero = args.to.zero.data<float>()[0];
  const int largest = args.to.largest();
  parallel_for(args.x.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<uint8_t>(quantized(x[i], scale, zero, largest));
  });
}

namespace {

/// sums[f] += the bytes of the rows that entries name.
template <class Sum>
void add_rows(const uint8_t* x, const int32_t* indices, int64_t begin, int64_t end, std::vector<Sum>& sums) {
  const auto width = static_cast<int64_t>(sums.size());
  for (int64_t e = begin; e < end; ++e) {
    const uint8_t* row = x + indices[e] * width;
    for (int64_t f = 0; f < width; ++f) sums[static_cast<size_t>(f)] += row[f];
  }
}

}  // namespace

void sum_bytes_to_bits(const SumBytesToBitsArgs& args) {
  const Csr& a = args.a;
  BitTensor& to = args.to;
  to.planes.zero_();
  const auto* offsets = a.offsets.data<int64_t>();
  const auto* indices = a.indices.data<int32_t>();
  const auto* x = args.x.bytes.data<uint8_t>();
  const auto* row_scale = args.row_scale ? args.row_scale.data<float>() : nullptr;
  const auto* column_scale = args.column_scale ? args.column_scale.data<float>() : nullptr;
  const auto* column_shift = args.column_shift ? args.column_shift.data<float>() : nullptr;
  const PerRow to_scale(to.scale), to_zero(to.zero);
  auto* planes = to.planes.mutable_data<uint8_t>();
  auto* totals = to.sums.mutable_data<int32_t>();
  const auto width = static_cast<size_t>(to.inner);
  std::vector<BitColumn> columns;
  for (int64_t f = 0; f < to.inner; ++f)
    columns.push_back(byte_sum_column(args.x.scale.data<float>()[0], args.x.zero.data<float>()[0],
                                      column_scale, column_shift, f));
  parallel_for(a.rows, 64, [&](int64_t first, int64_t last) {
    std::vector<int32_t> sums(width);
    std::vector<int64_t> wide(width);
    for (int64_t row = first; row < last; ++row) {
      const int64_t begin = offsets[row], end = offsets[row + 1];
      const bool few = end - begin <= kMostByteSums;
      if (few) {
        std::fill(sums.begin(), sums.end(), 0);
        add_rows(x, indices, begin, end, sums);
      } else {
        std::fill(wide.begin(), wide.end(), 0);
        add_rows(x, indices, begin, end, wide);
      }
      const BitRow of_row = byte_sum_row(end - begin, row_scale != nullptr ? row_scale[row] : 1.0f,
                                         to_scale.at(row), to_zero.at(row));
      int32_t total = 0;
      for (size_t f = 0; f < width; ++f) {
        const float sum = few ? static_cast<float>(sums[f]) : static_cast<float>(wide[f]);
        const int q = held_integer(requantized_unrounded(sum, of_row, columns[f]), to.largest());
        total += q;
        if (to.bytes) {
          planes[byte_place(to.step_bytes(), row, static_cast<int64_t>(f))] = static_cast<uint8_t>(q);
          continue;
        }
        uint8_t* const at = planes + bit_place(to.step_bytes(), row, static_cast<int64_t>(f));
        for (int p = 0; p < to.bits; ++p)
          at[p * to.plane_bytes()] = static_cast<uint8_t>(at[p * to.plane_bytes()] | (q >> p & 1) << (f % 8));
      }
      totals[row] = total;
    }
  });
}

}  // namespace adj::kernels::cpu
