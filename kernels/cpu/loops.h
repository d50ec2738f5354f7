#pragma once

#include <adjoint/core/dtype.h>
#include <adjoint/core/parallel.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace adj::kernels::cpu {

/// Elements that a thread takes at once where little is done with each: 256 KiB of float32 stay in its cache,
/// and below that a parallel region costs more than it gives.
inline constexpr int64_t kGrain = int64_t{1} << 16;
/// Likewise where each element costs an exponential or a root.
inline constexpr int64_t kCostlyGrain = int64_t{1} << 14;

/// Rows of `width` elements that make up a grain.
inline int64_t row_grain(int64_t width, int64_t grain = kGrain) {
  return std::max<int64_t>(1, grain / std::max<int64_t>(1, width));
}

/// Likewise where each chunk leaves `width` partial sums: enough rows that these are few.
inline int64_t reduction_grain(int64_t width) { return std::max<int64_t>(64, row_grain(width)); }

/// y[i] = f(i) for i in [0, n); f gives what S is computed in. Reading element i of an array that is also
/// written is fine.
template <class S, class F>
void map(int64_t n, S* y, F f, int64_t grain = kGrain) {
  parallel_for(n, grain, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) y[i] = narrow<S>(f(i));
  });
}

/// Σ f(i) over [0, n): the lanes of a vector, then their sum.
template <class T, class F>
T sum_of(int64_t n, F f) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += f(i);
  return sum;
}

/// Σ term(begin, end) over the chunks of [0, n), in double and in their order.
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
