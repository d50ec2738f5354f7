#pragma once

#include <adjoint/core/dtype.h>
#include <adjoint/core/parallel.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace adj::kernels::cpu {

/// Elements per task for cheap operations: 256 KiB of float32 stay in a core's cache, and below that a
/// parallel region costs more than it gains.
inline constexpr int64_t kGrain = int64_t{1} << 16;
/// The same if each element costs an exponential or a root.
inline constexpr int64_t kCostlyGrain = int64_t{1} << 14;

/// adj::parallel_for, with one copy of f's code instead of two (for one chunk and for several): kernels spend
/// most of their compile time in such bodies.
template <class F>
[[gnu::noinline]] void run_chunk(F& f, int64_t begin, int64_t end) {
  f(begin, end);
}
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  adj::parallel_for(n, grain, [&f](int64_t begin, int64_t end) { run_chunk(f, begin, end); });
}

/// Rows of `width` elements per grain.
inline int64_t row_grain(int64_t width, int64_t grain = kGrain) {
  return std::max<int64_t>(1, grain / std::max<int64_t>(1, width));
}

/// The same if each chunk leaves `width` partial sums: large enough to keep partial sums few.
inline int64_t reduction_grain(int64_t width) { return std::max<int64_t>(64, row_grain(width)); }

/// Calls f(i) for i in [0, n) in parallel, `grain` of them per task.
template <class F>
void for_each_index(int64_t n, int64_t grain, F f) {
  parallel_for(n, grain, [&f](int64_t begin, int64_t end) {
    const F each = f;  // in registers
    for (int64_t i = begin; i < end; ++i) each(i);
  });
}
/// The same for rows of `width` elements.
template <class F>
void for_rows(int64_t rows, int64_t width, F f) {
  for_each_index(rows, row_grain(width), f);
}

/// y[i] = f(i) for i in [0, n); f returns the compute type of S. f may read element i of an array that is
/// also written.
template <class S, class F>
void map(int64_t n, S* y, F f, int64_t grain = kGrain) {
  parallel_for(n, grain, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) y[i] = narrow<S>(f(i));
  });
}

/// Σ f(i) over [0, n): in vector lanes, then over the lanes.
template <class T, class F>
T sum_of(int64_t n, F f) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += f(i);
  return sum;
}

/// Σ term(begin, end) over the chunks of [0, n), in double, in chunk order.
template <class F>
double sum_of_chunks(int64_t n, int64_t grain, F term) {
  const int64_t chunks = ceil_div(n, grain);
  if (chunks <= 1) return n > 0 ? static_cast<double>(term(int64_t{0}, n)) : 0.0;
  std::vector<double> partial(static_cast<size_t>(chunks));
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    partial[static_cast<size_t>(begin / grain)] = static_cast<double>(term(begin, end));
  });
  double sum = 0.0;
  for (double p : partial) sum += p;
  return sum;
}

}  // namespace adj::kernels::cpu
