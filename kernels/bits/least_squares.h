#pragma once

#include <adjoint/core/parallel.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace adj::kernels {

/// Index of the rounding with the least squared error among `candidates`, the first if equal; candidate k
/// rounds x to rounded(k, x). Errors are summed in float64, in order within chunks of numbers and then chunk
/// by chunk, on any number of threads.
template <class F>
int64_t least_squared_error(std::span<const float> x, int64_t candidates, F&& rounded,
                            int64_t chunk = int64_t{1} << 62) {
  const int64_t n = std::ssize(x), chunks = std::max<int64_t>(1, ceil_div(n, chunk));
  std::vector<double> errors(static_cast<size_t>(candidates * chunks));
  // A chunk stays in the L1 cache for all candidates.
  parallel_for(candidates * chunks, chunks > 1 ? candidates : 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task / candidates * chunk;
      double sum = 0.0;
      for (int64_t i = first; i < std::min(n, first + chunk); ++i) {
        const float number = x[static_cast<size_t>(i)];
        const double off = static_cast<double>(rounded(static_cast<size_t>(task % candidates), number)) -
                           static_cast<double>(number);
        sum += off * off;
      }
      errors[static_cast<size_t>(task)] = sum;
    }
  });
  for (size_t task = static_cast<size_t>(candidates); task < errors.size(); ++task)
    errors[task % static_cast<size_t>(candidates)] += errors[task];
  return std::min_element(errors.begin(), errors.begin() + candidates) - errors.begin();
}

}  // namespace adj::kernels
