#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/bit_operands.h>
#include <adjoint/kernels/bits/bit_range.h>
#include <adjoint/kernels/cpu/column_sums.h>
#include <adjoint/kernels/cpu/loops.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace adj::kernels::cpu {

namespace {

struct Ranges : FakeRanges {
  using FakeRanges::FakeRanges;
  /// f(column, scale, zero) along a row.
  template <class F>
  void along(int64_t row, int64_t columns, F f) const {
    if (by_column) {
      const float *s = scale.numbers, *z = zero.numbers;
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) f(c, s[c], z[c]);
    } else {
      const float s = scale.at(by_row ? row : 0), z = zero.at(by_row ? row : 0);
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) f(c, s, z);
    }
  }
};

}  // namespace

void fake_quantize(const FakeQuantizeArgs& args) {
  const Ranges ranges(args);
  const int64_t columns = args.x.size(1);
  const float* x = args.x.data<float>();
  float* y = args.y.mutable_data<float>();
  parallel_for(args.x.size(0), row_grain(columns, kCostlyGrain), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* input = x + r * columns;
      float* output = y + r * columns;
      if (ranges.kept(r)) {
        std::copy_n(input, columns, output);
        continue;
      }
      ranges.along(r, columns, [&](int64_t c, float s, float z) {
        output[c] = fake_quantized(input[c], s, z, ranges.largest);
      });
    }
  });
}

void fake_quantize_backward(const FakeQuantizeBackwardArgs& args) {
  const Ranges ranges(args);
  const int64_t rows = args.x.size(0), columns = args.x.size(1);
  const float *x = args.x.data<float>(), *dy = args.dy.data<float>();
  float* dx = args.dx ? args.dx.mutable_data<float>() : nullptr;
  // dx of a row, and its contribution to the column sums.
  const auto pass = [&](int64_t r, double* sums) {
    const float *input = x + r * columns, *dy_row = dy + r * columns;
    float* dx_row = dx == nullptr ? nullptr : dx + r * columns;
    if (ranges.kept(r)) {
      if (dx_row != nullptr && dx_row != dy_row) std::copy_n(dy_row, columns, dx_row);
      return;
    }
    ranges.along(r, columns, [&](int64_t c, float s, float z) {
      const FakeSlope slope = fake_slope(input[c], s, z, ranges.largest);
      const float gradient = dy_row[c];
      if (sums != nullptr) sums[c] += static_cast<double>(gradient) * static_cast<double>(slope.scale);
      if (dx_row != nullptr) dx_row[c] = gradient * slope.x;
    });
  };
  if (!args.dscale || ranges.by_row) {
    float* dscale = args.dscale ? args.dscale.mutable_data<float>() : nullptr;
    parallel_for(rows, row_grain(columns, kCostlyGrain), [&](int64_t begin, int64_t end) {
      std::vector<double> sums(dscale == nullptr ? 0 : static_cast<size_t>(columns));
      for (int64_t r = begin; r < end; ++r) {
        std::fill(sums.begin(), sums.end(), 0.0);
        pass(r, dscale == nullptr ? nullptr : sums.data());
        if (dscale == nullptr) continue;
        double sum = 0.0;
        for (const double of_column : sums) sum += of_column;
        dscale[r] = static_cast<float>(args.gradient_scale * sum);
      }
    });
    return;
  }
  std::vector<double> sums(static_cast<size_t>(columns));
  sum_over_row_chunks(rows, reduction_grain(columns), columns, sums.data(),
                      [&](int64_t begin, int64_t end, double* of_chunk) {
                        std::fill_n(of_chunk, columns, 0.0);
                        for (int64_t r = begin; r < end; ++r) pass(r, of_chunk);
                      });
  auto* dscale = args.dscale.mutable_data<float>();
  if (ranges.by_column) {
    for (int64_t c = 0; c < columns; ++c)
      dscale[c] = static_cast<float>(args.gradient_scale * sums[static_cast<size_t>(c)]);
    return;
  }
  double all = 0.0;
  for (const double of_column : sums) all += of_column;
  dscale[0] = static_cast<float>(args.gradient_scale * all);
}

void bit_range(const BitRangeArgs& args) {
  const bool by_rows = args.along == PackedAlong::rows;
  const int64_t outer = outer_of(args.x, args.along), inner = inner_of(args.x, args.along);
  const int64_t row = by_rows ? inner : 1, step = by_rows ? 1 : outer;
  const float* x = args.x.data<float>();
  struct MinMax {
    float least = 0.0f, largest = 0.0f;  // 0 is always in the range
  };
  std::vector<MinMax> found(static_cast<size_t>(outer));
  parallel_for(outer, 16, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      MinMax& e = found[static_cast<size_t>(o)];
      for (int64_t k = 0; k < inner; ++k) {
        const float value = x[o * row + k * step];
        if (!std::isfinite(value)) continue;
        e.least = std::min(e.least, value);
        e.largest = std::max(e.largest, value);
      }
    }
  });
  auto* scale = args.scale.mutable_data<float>();
  auto* zero = args.zero.mutable_data<float>();
  const auto leave = [&](size_t i, const MinMax& e) {
    const BitScale result = bit_scale(e.least, e.largest, args.range, args.bits);
    scale[i] = result.scale;
    zero[i] = result.zero;
  };
  if (args.scale.numel() == outer) {
    for (size_t o = 0; o < found.size(); ++o) leave(o, found[o]);
    return;
  }
  MinMax all;
  for (const MinMax& e : found) all = {std::min(all.least, e.least), std::max(all.largest, e.largest)};
  leave(0, all);
}

}  // namespace adj::kernels::cpu
