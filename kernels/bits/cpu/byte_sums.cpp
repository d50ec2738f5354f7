#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/bits/byte_sums.h>

#include <algorithm>
#include <vector>

namespace adj::kernels::cpu {

namespace {

/// Adds a row's numbers; half bytes in pairs.
void add_row(const uint8_t* row, bool halves, std::vector<int32_t>& sums) {
  const size_t n = sums.size();
  if (!halves) {
    for (size_t f = 0; f < n; ++f) sums[f] += row[f];
    return;
  }
  for (size_t f = 0; f + 1 < n; f += 2) {
    sums[f] += row[f / 2] & 15;
    sums[f + 1] += row[f / 2] >> 4;
  }
  if (n % 2 != 0) sums[n - 1] += row[n / 2] & 15;
}

}  // namespace

void sum_bytes_to_bits(const SumBytesToBitsArgs& args) {
  const Csr& a = args.a;
  BitTensor& output = args.output;
  output.planes.zero_();
  const auto* offsets = a.offsets.data<int64_t>();
  const auto* indices = a.indices.data<int32_t>();
  const auto* x = args.x.bytes.data<uint8_t>();
  const auto* row_scale = args.row_scale ? args.row_scale.data<float>() : nullptr;
  const auto* column_scale = args.column_scale ? args.column_scale.data<float>() : nullptr;
  const auto* column_shift = args.column_shift ? args.column_shift.data<float>() : nullptr;
  const PerRow to_scale(output.scale), to_zero(output.zero);
  auto* bytes = output.planes.mutable_data<uint8_t>();
  auto* totals = output.sums.mutable_data<int32_t>();
  const int64_t width = output.inner, pitch = args.x.pitch();
  std::vector<BitColumn> columns;
  for (int64_t f = 0; f < width; ++f)
    columns.push_back(byte_sum_column(args.x.scale.data<float>()[0], args.x.zero.data<float>()[0],
                                      column_scale, column_shift, f));
  parallel_for(a.rows, 64, [&](int64_t first, int64_t last) {
    std::vector<int32_t> some(static_cast<size_t>(width));
    std::vector<int64_t> sums(static_cast<size_t>(width));
    for (int64_t row = first; row < last; ++row) {
      const int64_t begin = offsets[row], end = offsets[row + 1];
      std::fill(sums.begin(), sums.end(), 0);
      constexpr int64_t kFit = int64_t{1} << 23;  // byte sums that fit in 31 bits
      for (int64_t chunk = begin; chunk < end; chunk += kFit) {
        std::fill(some.begin(), some.end(), 0);
        for (int64_t e = chunk; e < std::min(end, chunk + kFit); ++e)
          add_row(x + indices[e] * pitch, args.x.halves(), some);
        for (size_t f = 0; f < some.size(); ++f) sums[f] += some[f];
      }
      const BitRow of_row = byte_sum_row(end - begin, row_scale != nullptr ? row_scale[row] : 1.0f,
                                         to_scale.at(row), to_zero.at(row));
      int32_t total = 0;
      for (int64_t f = 0; f < width; ++f) {
        const auto index = static_cast<size_t>(f);
        const int q = held_integer(
            requantized_unrounded(static_cast<float>(sums[index]), of_row, columns[index]), output.largest());
        total += q;
        bytes[byte_place(output.step_bytes(), row, f)] = static_cast<uint8_t>(q);
      }
      totals[row] = total;
    }
  });
}

}  // namespace adj::kernels::cpu
