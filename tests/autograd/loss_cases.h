#pragma once

#include "../reference/plain.h"

// Losses of single rows, by their definitions.
namespace adj::test {

inline double bce_of(double x, double t) {
  return std::max(x, 0.0) - x * t + std::log1p(std::exp(-std::abs(x)));
}
inline double square_of(double x, double t) { return (x - t) * (x - t); }

inline double cross_entropy_of(const Dense& x, int64_t i, int32_t label) {
  double largest = -INFINITY, total = 0.0;
  for (int64_t c = 0; c < x.cols; ++c) largest = std::max(largest, x(i, c));
  for (int64_t c = 0; c < x.cols; ++c) total += std::exp(x(i, c) - largest);
  return largest + std::log(total) - x(i, label);
}

/// The mean of f(x, t) over row i.
template <class F>
double row_mean(const Dense& x, const Dense& t, int64_t i, F&& f) {
  double sum = 0.0;
  for (int64_t j = 0; j < x.cols; ++j) sum += f(x(i, j), t(i, j));
  return sum / static_cast<double>(x.cols);
}

}  // namespace adj::test
