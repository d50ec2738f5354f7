#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/kernels/cpu/periodic.h>

#include <vector>

namespace adj::kernels::cpu {

/// sums[f] = Σ_i x[i, f] over `rows` rows; `scratch` has 2 period_of(width) elements. Runs of rows are summed
/// separately before they join the total, so that the rounding error grows with the number of runs and not of
/// rows.
template <class S, class T = Accumulator<S>>
void column_sums(const S* x, int64_t rows, int64_t width, T* scratch, T* sums) {
  constexpr int64_t kRun = 64;
  const int64_t period = period_of(width), n = rows * width;
  T *lanes = scratch, *total = scratch + period;
  std::fill_n(total, period, T{0});
  int64_t offset = 0;
  while (offset + 4 * period <= n) {
    std::fill_n(lanes, period, T{0});
    const int64_t stop = std::min(n - 4 * period, offset + 4 * period * (kRun - 1));
    for (; offset <= stop; offset += 4 * period) {
      const S *x0 = x + offset, *x1 = x0 + period, *x2 = x1 + period, *x3 = x2 + period;
#pragma omp simd
      for (int64_t j = 0; j < period; ++j)
        lanes[j] += (widen(x0[j]) + widen(x1[j])) + (widen(x2[j]) + widen(x3[j]));
    }
#pragma omp simd
    for (int64_t j = 0; j < period; ++j) total[j] += lanes[j];
  }
  for_stretches(n - offset, period, [&](int64_t start, int64_t length) {
    const S* input = x + offset + start;
#pragma omp simd
    for (int64_t j = 0; j < length; ++j) total[j] += widen(input[j]);
  });
  fold(total, width, period, sums);
}

/// y[j] = Σ_c partial[c, j], `width` numbers each, in double.
template <class T>
void add_chunks(const T* partial, int64_t chunks, int64_t width, T* y) {
  std::vector<double> total(static_cast<size_t>(width));
  for (int64_t c = 0; c < chunks; ++c)
    for (int64_t j = 0; j < width; ++j)
      total[static_cast<size_t>(j)] += static_cast<double>(partial[c * width + j]);
  for (int64_t j = 0; j < width; ++j) y[j] = static_cast<T>(total[static_cast<size_t>(j)]);
}

/// Splits [0, rows) into chunks, calls f(begin, end, sums) for `width` sums of each, and adds them in double,
/// in chunk order: y[j] = Σ_chunks sums[j].
template <class T, class F>
void sum_over_row_chunks(int64_t rows, int64_t grain, int64_t width, T* y, F f) {
  static_assert(std::is_same_v<T, Accumulator<T>>);
  const int64_t chunks = ceil_div(rows, grain);
  if (chunks <= 1) {
    std::fill_n(y, width, T{0});
    if (rows > 0) f(int64_t{0}, rows, y);
    return;
  }
  Tensor scratch = Tensor::empty({chunks, width}, dtype_of<T>());
  T* partial = scratch.mutable_data<T>();
  parallel_for(rows, grain,
               [&](int64_t begin, int64_t end) { f(begin, end, partial + begin / grain * width); });
  add_chunks(partial, chunks, width, y);
}

}  // namespace adj::kernels::cpu
